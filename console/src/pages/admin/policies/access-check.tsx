import {
  Alert,
  Autocomplete,
  Group,
  List,
  Paper,
  Select,
  SimpleGrid,
  Stack,
  Text,
  TextInput,
  Title,
} from '@mantine/core';
import { checkAccess } from '@svc/contract/grants.ts';
import { IconCheck, IconX } from '@tabler/icons-react';
import { useState } from 'react';
import { useSearchParams } from 'wouter';
import { useTenant } from '../../../api/me.ts';
import { useAnswer } from '../../../api/use-answer.ts';
import { AnswerView } from '../../../parts/answer-view.tsx';
import { LinkTo } from '../../../parts/link-to.tsx';
import { MayButton } from '../../../parts/may-button.tsx';
import { adminPath } from '../admin-path.ts';
import { MemberSelect } from '../member-select.tsx';
import { shortId, useTenantNames } from '../use-tenant-names.ts';

const reasons: Record<string, string> = {
  granted: 'An active grant covers it.',
  no_active_grant: 'They hold no active grant on this connector.',
  action_not_in_preset: 'They hold a grant on this connector, but its preset does not allow the action.',
  out_of_scope: 'They hold a grant with the action, but its scope does not reach that far.',
};

/** Whether somebody may, and why. What is asked stands in the address, so that the answer can be sent on. */
export function AccessCheck() {
  const tenant = useTenant();
  const names = useTenantNames();
  const [search, setSearch] = useSearchParams();
  const asked = {
    subject: search.get('subject') ?? '',
    connector: search.get('connector') ?? '',
    action: search.get('action') ?? 'read',
    path: search.get('path') ?? '',
  };
  const [draft, setDraft] = useState(asked);
  const set = (part: Partial<typeof draft>) => setDraft((before) => ({ ...before, ...part }));
  const isReady = draft.subject !== '' && draft.connector !== '' && draft.action !== '';
  const answer = useAnswer(
    checkAccess,
    {
      params: { tenantID: tenant.id },
      body: {
        subject_id: asked.subject,
        connector_id: asked.connector,
        action: asked.action,
        resource_path: asked.path,
      },
    },
    { enabled: asked.subject !== '' && asked.connector !== '' },
  );
  return (
    <Paper withBorder p="lg" radius="md" component="section" aria-labelledby="access-check">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (isReady)
            setSearch(new URLSearchParams(Object.entries(draft).filter(([, value]) => value !== '')));
        }}
      >
        <Stack>
          <Title order={2} size="h4" id="access-check">
            Access check
          </Title>
          <Text size="sm" c="dimmed">
            Whether a member may do something through a connector, by which grants, and under which policies.
          </Text>
          <SimpleGrid cols={{ base: 1, sm: 2, lg: 4 }}>
            <MemberSelect label="Who" value={draft.subject} onChange={(subject) => set({ subject })} />
            <Select
              label="Connector"
              placeholder="Choose one"
              data={names.connectors.map(({ id, name }) => ({ value: id, label: name }))}
              value={draft.connector || null}
              onChange={(connector) => set({ connector: connector ?? '' })}
              searchable
            />
            <Autocomplete
              label="Action"
              data={['read', 'write', 'delete', 'admin']}
              value={draft.action}
              onChange={(action) => set({ action })}
              maxLength={64}
            />
            <TextInput
              label="Resource path"
              placeholder="whole connector"
              value={draft.path}
              onChange={(event) => set({ path: event.currentTarget.value.trim() })}
              classNames={{ input: 'mono' }}
            />
          </SimpleGrid>
          <Group>
            <MayButton
              type="submit"
              variant="default"
              why={isReady ? null : 'Choose who, a connector and an action first.'}
              onClick={() => {}}
            >
              Check access
            </MayButton>
          </Group>
          {asked.subject !== '' && asked.connector !== '' && (
            <AnswerView answer={answer} lines={2}>
              {(decision) => (
                <Alert
                  color={decision.allowed ? 'green' : 'red'}
                  icon={decision.allowed ? <IconCheck aria-hidden /> : <IconX aria-hidden />}
                  title={decision.allowed ? 'Allowed' : 'Not allowed'}
                  role="status"
                >
                  <Text size="sm">{reasons[decision.reason] ?? decision.reason}</Text>
                  <List size="sm" mt={4}>
                    {decision.grant_ids.map((id) => (
                      <List.Item key={id}>
                        <LinkTo
                          to={adminPath(tenant.slug, 'grants', id)}
                          size="sm"
                          c="inherit"
                          td="underline"
                        >
                          Grant {shortId(id)}
                        </LinkTo>
                      </List.Item>
                    ))}
                    {decision.policy_ids.map((id) => (
                      <List.Item key={id}>
                        <LinkTo
                          to={adminPath(tenant.slug, 'policies', id)}
                          size="sm"
                          c="inherit"
                          td="underline"
                        >
                          Policy {names.policyName(id)}
                        </LinkTo>
                      </List.Item>
                    ))}
                  </List>
                </Alert>
              )}
            </AnswerView>
          )}
        </Stack>
      </form>
    </Paper>
  );
}
