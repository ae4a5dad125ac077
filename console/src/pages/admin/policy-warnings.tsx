import { Alert, List } from '@mantine/core';
import { listPolicyWarnings } from '@svc/contract/access-policies.ts';
import { perPageMax } from '@svc/contract/limits.ts';
import { IconAlertTriangle } from '@tabler/icons-react';
import { useTenant } from '../../api/me.ts';
import { useEndpoint } from '../../api/use-endpoint.ts';
import { LinkTo } from '../../components/page-layout.tsx';
import { adminPath } from './form-page.tsx';

export function PolicyWarnings({ connector, policy }: { connector?: string; policy?: string }) {
  const tenant = useTenant();
  const answer = useEndpoint(listPolicyWarnings, {
    params: { tenantID: tenant.id },
    query: { connector, policy, per_page: perPageMax },
  });
  const warnings = answer.data?.items ?? [];
  if (warnings.length === 0) return null;
  return (
    <Alert
      color="yellow"
      icon={<IconAlertTriangle aria-hidden />}
      title={policy === undefined ? 'Policies need attention' : 'This policy needs attention'}
      role="status"
      mb="md"
    >
      <List size="sm">
        {warnings.map(({ policy_id, code, connector_slug, path, text }) => (
          <List.Item key={`${policy_id} ${code} ${connector_slug} ${path}`}>
            {policy === undefined ? (
              <LinkTo to={adminPath(tenant.slug, 'policies', policy_id)} size="sm" c="inherit" td="underline">
                {text}
              </LinkTo>
            ) : (
              text
            )}
          </List.Item>
        ))}
      </List>
    </Alert>
  );
}
