import { Alert } from '@mantine/core';
import { IconInfoCircle } from '@tabler/icons-react';

/** Above the button of a form: what is saved would overwrite what somebody else has just written. */
export function ChangedBelow({ fields }: { fields: readonly PropertyKey[] }) {
  if (fields.length === 0) return null;
  const names = fields.map((field) => String(field).replaceAll('_', ' ')).join(', ');
  return (
    <Alert color="yellow" icon={<IconInfoCircle aria-hidden />} role="status" title="Changed meanwhile">
      Somebody else has changed this since you began: {names}. What you have typed is still here; saving puts
      it in the place of theirs.
    </Alert>
  );
}
