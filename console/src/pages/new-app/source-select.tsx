import { Select } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { listApps, searchCharsMax } from '@svc/contract/app-lists.ts';
import { useState } from 'react';
import { useTenant } from '../../api/me.ts';
import { useAnswer } from '../../api/use-answer.ts';

const typedMs = 250;
const shownMax = 50;

/** An app that one sees, by its slug. */
export function SourceSelect({
  value,
  onChange,
  error,
}: {
  value: string;
  onChange: (slug: string) => void;
  error: string | undefined;
}) {
  const tenant = useTenant();
  const [typed, setTyped] = useState('');
  const [q] = useDebouncedValue(typed.trim(), typedMs);
  const [chosen, setChosen] = useState<{ value: string; label: string } | null>(null);
  // What was chosen stands in the field as its label; that is no search for others.
  const sought = q === '' || q === chosen?.label ? {} : { q };
  const answer = useAnswer(listApps, {
    params: { tenantID: tenant.id },
    query: { per_page: shownMax, ...sought },
  });
  const found = (answer.data?.items ?? []).map(({ slug, name }) => ({ value: slug, label: name }));
  const kept = value !== '' && !found.some((one) => one.value === value);
  const label = chosen?.value === value ? chosen.label : value;
  return (
    <Select
      label="Made from"
      description="You need to be able to read its code as well."
      placeholder="Name of an app"
      data={kept ? [{ value, label }, ...found] : found}
      value={value === '' ? null : value}
      onChange={(next) => {
        setChosen(found.find((one) => one.value === next) ?? null);
        onChange(next ?? '');
      }}
      searchable
      searchValue={typed}
      onSearchChange={setTyped}
      maxLength={searchCharsMax}
      nothingFoundMessage="No app that you see is named so"
      error={error}
      required
    />
  );
}
