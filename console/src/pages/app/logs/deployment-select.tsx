import { NativeSelect } from '@mantine/core';
import { listDeployments } from '@svc/contract/deployments.ts';
import { useAnswer } from '../../../api/use-answer.ts';
import { useApp } from '../use-app.ts';

const newest = 30;

/** Whose lines: of all that run and ran, or of one deployment. */
export function DeploymentSelect({ value, onChange }: { value: string; onChange: (id: string) => void }) {
  const { params } = useApp();
  const { data } = useAnswer(listDeployments, { params, query: { per_page: newest } });
  const ran = data?.items.filter(({ live_at, id }) => live_at !== null || id === value) ?? [];
  return (
    <NativeSelect
      label="Deployment"
      value={value}
      onChange={(event) => onChange(event.currentTarget.value)}
      data={[
        { value: '', label: 'All' },
        ...ran.map(({ id, seq, state }) => ({ value: id, label: `#${seq} (${state})` })),
        // One that is not among the newest is chosen all the same, by its address.
        ...(value !== '' && !ran.some(({ id }) => id === value) ? [{ value, label: value.slice(-12) }] : []),
      ]}
    />
  );
}
