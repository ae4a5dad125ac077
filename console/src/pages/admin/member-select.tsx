import { Select, type SelectProps } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { perPageMax } from '@svc/contract/limits.ts';
import { listMembers } from '@svc/contract/tenants.ts';
import { useState } from 'react';
import { useTenant } from '../../api/me.ts';
import { useAnswer } from '../../api/use-answer.ts';

const typedMs = 200;

/** One member of the tenant, found by name or e-mail address; its value is the user's id. */
export function MemberSelect({
  label,
  value,
  onChange,
  error,
  placeholder = 'Name or e-mail address',
  required = false,
  w,
}: {
  label: string;
  value: string;
  onChange: (userId: string) => void;
  error?: string | undefined;
  placeholder?: string;
  required?: boolean;
  w?: SelectProps['w'];
}) {
  const tenant = useTenant();
  const [typed, setTyped] = useState('');
  const [q] = useDebouncedValue(typed, typedMs);
  const [chosen, setChosen] = useState<{ value: string; label: string } | null>(null);
  // What was chosen stands in the field, as its name or while that is unknown as its id; that is no search for others.
  const sought = q === chosen?.label || q === value ? '' : q;
  const answer = useAnswer(listMembers, {
    params: { tenantID: tenant.id },
    query: sought === '' ? { per_page: perPageMax } : { q: sought, per_page: perPageMax },
  });
  const found = (answer.data?.items ?? []).map((member) => ({
    value: member.user_id,
    label: `${member.name} (${member.email})`,
  }));
  const known = found.find((one) => one.value === value) ?? chosen;
  const kept = value !== '' && !found.some((one) => one.value === value);
  return (
    <Select
      label={label}
      placeholder={placeholder}
      data={kept ? [{ value, label: known?.value === value ? known.label : value }, ...found] : found}
      value={value === '' ? null : value}
      onChange={(next) => {
        setChosen(found.find((one) => one.value === next) ?? null);
        onChange(next ?? '');
      }}
      searchable
      searchValue={typed}
      onSearchChange={setTyped}
      nothingFoundMessage="No member is named so"
      clearable
      clearButtonProps={{ 'aria-label': `Clear ${label}` }}
      error={error}
      required={required}
      {...(w === undefined ? {} : { w })}
    />
  );
}
