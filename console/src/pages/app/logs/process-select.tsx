import { NativeSelect } from '@mantine/core';
import { listInstances } from '@svc/contract/deployments.ts';
import { useEndpoint } from '../../../api/use-endpoint.ts';
import { useApp } from '../use-app.tsx';

/** Renders nothing for an app with a single process. */
export function ProcessSelect({ value, onChange }: { value: string; onChange: (process: string) => void }) {
  const { params } = useApp();
  const { data } = useEndpoint(listInstances, { params, query: {} });
  const names = new Set(data?.processes.map(({ process }) => process));
  if (value !== '') names.add(value);
  if (names.size < 2) return null;
  return (
    <NativeSelect
      label="Process"
      value={value}
      onChange={(event) => onChange(event.currentTarget.value)}
      data={[{ value: '', label: 'All' }, ...names]}
    />
  );
}
