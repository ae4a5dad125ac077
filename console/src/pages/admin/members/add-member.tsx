import { Select, TextInput } from '@mantine/core';
import { uuidPattern } from '@svc/contract/limits.ts';
import { setMember } from '@svc/contract/tenants.ts';
import { useState } from 'react';
import { useLocation } from 'wouter';
import { useTenant } from '../../../api/me.ts';
import { useChange } from '../../../change/use-change.ts';
import { adminPath } from '../admin-path.ts';
import { FormFrame } from '../form-frame.tsx';
import { type Role, roleData } from './roles.ts';

/** By id: an address would tell an admin whether somebody they do not know has an account. */
export function AddMember() {
  const tenant = useTenant();
  const [, go] = useLocation();
  const back = adminPath(tenant.slug, 'members');
  const [user, setUser] = useState('');
  const [role, setRole] = useState<Role>('tenant_member');
  const [isTried, setTried] = useState(false);
  const change = useChange(setMember, {
    title: 'Add a member',
    verb: 'Add',
    done: 'The member is added.',
    onDone: () => go(back),
  });
  const id = user.trim();
  const isId = uuidPattern.test(id);
  return (
    <FormFrame
      title="Add a member"
      back={{ to: back, label: 'All members' }}
      submit="Add member"
      change={change}
      onSubmit={() => {
        setTried(true);
        if (isId)
          void change.propose({ params: { tenantID: tenant.id, userID: id.toLowerCase() }, body: { role } });
      }}
    >
      <TextInput
        label="User id"
        description="They find it with “svc whoami”; an operator with “svc-admin users list”."
        value={user}
        onChange={(event) => setUser(event.currentTarget.value)}
        error={
          isTried && !isId
            ? 'must be the id of a user, such as 0198c1f2-7b1e-7c3a-9d52-0c5e8f1a2b3c'
            : undefined
        }
        autoComplete="off"
        required
        maw={460}
        classNames={{ input: 'mono' }}
      />
      <Select
        label="Role"
        description="Admins govern the tenant: members, grants, reviews. They read no app's data by it."
        data={roleData}
        value={role}
        onChange={(next) => setRole((next as Role | null) ?? 'tenant_member')}
        allowDeselect={false}
        maw={460}
      />
    </FormFrame>
  );
}
