import { Select } from '@mantine/core';
import { listCategories } from '@svc/contract/categories.ts';
import { perPageMax } from '@svc/contract/limits.ts';
import { useTenant } from '../api/me.ts';
import { useAnswer } from '../api/use-answer.ts';

/** A category of the tenant by its id; empty for none. */
export function CategorySelect({
  value,
  onChange,
  error,
  disabled = false,
}: {
  value: string;
  onChange: (id: string) => void;
  error?: string | undefined;
  disabled?: boolean;
}) {
  const tenant = useTenant();
  const answer = useAnswer(listCategories, {
    params: { tenantID: tenant.id },
    query: { per_page: perPageMax },
  });
  const data = (answer.data?.items ?? []).map(({ id, name }) => ({ value: id, label: name }));
  return (
    <Select
      label="Category"
      description="Where the catalogue shows it."
      placeholder={answer.data && data.length === 0 ? 'The tenant has no categories yet' : 'None'}
      data={data}
      value={value === '' ? null : value}
      onChange={(next) => onChange(next ?? '')}
      searchable={data.length > 8}
      clearable
      clearButtonProps={{ 'aria-label': 'Clear the category' }}
      nothingFoundMessage="No category is named so"
      error={error}
      disabled={disabled}
    />
  );
}
