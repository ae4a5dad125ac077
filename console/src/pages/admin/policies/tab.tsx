import { Stack } from '@mantine/core';
import { createPolicy } from '@svc/contract/access-policies.ts';
import { useParams } from 'wouter';
import { useTenant } from '../../../api/me.ts';
import { useFormChange } from '../use-form-change.ts';
import { AccessCheck } from './access-check.tsx';
import { OnePolicy } from './one-policy.tsx';
import { emptyPolicy } from './policy-draft.ts';
import { PolicyForm } from './policy-form.tsx';
import { PolicyList } from './policy-list.tsx';

export default function PoliciesTab() {
  const { part } = useParams<{ part?: string }>();
  if (part === 'new') return <NewPolicy />;
  if (part !== undefined) return <OnePolicy key={part} id={part} />;
  return (
    <Stack gap="xl">
      <div>
        <PolicyList />
      </div>
      <AccessCheck />
    </Stack>
  );
}

function NewPolicy() {
  const tenant = useTenant();
  const change = useFormChange(createPolicy, 'policies', {
    title: 'Create an access policy',
    verb: 'Create',
    done: 'The policy is created.',
  });
  return (
    <PolicyForm
      title="New access policy"
      initial={emptyPolicy}
      change={change}
      onSubmit={(body) => void change.propose({ params: { tenantID: tenant.id }, body })}
    />
  );
}
