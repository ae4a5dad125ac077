import { Alert, Button, Group, List, Stack, Text } from '@mantine/core';
import { consolePaths } from '@svc/contract/console-paths.ts';
import { readReviewLog } from '@svc/contract/review.ts';
import { IconExternalLink } from '@tabler/icons-react';
import { useEffect, useState } from 'react';
import { useTenant } from '../../api/me.ts';
import { useEndpoint } from '../../api/use-endpoint.ts';
import { CopyText } from '../../components/buttons.tsx';
import { DetailTable } from '../../components/data-table.tsx';
import { LinkTo, Section } from '../../components/page-layout.tsx';
import { QueryView } from '../../components/query-view.tsx';
import { Hint, Mono, SecondaryButton } from '../../components/text.tsx';
import { SchemaSteps } from '../app/tables/schema-drift.tsx';
import type { AppView } from '../app/use-app.tsx';
import { commitText, type Review, versionText } from './rules.ts';

/** Shows the changes that visitors would see, with a link to the preview for reviewers. */
export function Changes({ request, app }: { request: Review; app: AppView | undefined }) {
  const tenant = useTenant();
  const { diff, url, deployment_id: deploymentId, release_id: releaseId } = request;
  const isOpen = request.status === 'pending';
  return (
    <Section title="Changes">
      <Group gap="md">
        {isOpen && url !== null && (
          <Button
            component="a"
            href={url}
            target="_blank"
            rel="noreferrer"
            rightSection={<IconExternalLink size={16} aria-hidden />}
          >
            Open preview
          </Button>
        )}
        {app && releaseId !== null && (
          <LinkTo to={consolePaths.release(tenant.slug, app.slug, releaseId)}>
            Release: files and differences
          </LinkTo>
        )}
        {app && deploymentId !== null && (
          <LinkTo to={consolePaths.deployment(tenant.slug, app.slug, deploymentId)}>Deployment</LinkTo>
        )}
      </Group>
      <DetailTable
        label="Changes"
        details={{
          'Live now': isOpen && versionText(diff.before),
          Reviewed: diff.after === null ? 'no longer stored' : versionText(diff.after),
          Commits: commitText(diff) && <Mono>{commitText(diff)}</Mono>,
          Message: diff.after?.commit_message,
        }}
      />
      {isOpen && <FileChanges files={diff.files} />}
      {isOpen && diff.tables !== null && (
        <Stack gap="xs">
          <Text size="sm">
            {diff.tables.length === 0
              ? 'No changes of tables.'
              : 'Changes of tables, which the approval allows:'}
          </Text>
          <SchemaSteps steps={diff.tables} />
        </Stack>
      )}
      {isOpen && deploymentId !== null && <BuildLog request={request} />}
      <Stack gap={2}>
        <Hint>Content digest</Hint>
        <CopyText value={request.digest} label="content digest" size="xs" />
      </Stack>
    </Section>
  );
}

const signs = { added: '+', changed: '~', removed: '−' } as const;

function FileChanges({ files }: { files: Review['diff']['files'] }) {
  if (files === null)
    return <Hint>The files of this version are not stored, so they cannot be compared.</Hint>;
  const { added, changed, removed, items, truncated } = files;
  return (
    <Stack gap="xs">
      <Text size="sm">
        {added + changed + removed === 0
          ? 'No file changes.'
          : `${added} files added, ${changed} changed, ${removed} removed`}
      </Text>
      {items.length > 0 && (
        <List size="sm" listStyleType="none" aria-label="Changed files">
          {items.map(({ path, change }) => (
            <List.Item key={path}>
              <Mono>
                <span role="img" aria-label={change}>
                  {signs[change]}
                </span>{' '}
                {path}
              </Mono>
            </List.Item>
          ))}
        </List>
      )}
      {truncated && <Hint>More files change than are listed here.</Hint>}
    </Stack>
  );
}

const logLines = 500;

function BuildLog({ request }: { request: Review }) {
  const tenant = useTenant();
  const [isShown, setShown] = useState(false);
  // Read once: the right to it ends with the decision.
  const [hasRead, setRead] = useState(false);
  const answer = useEndpoint(
    readReviewLog,
    { params: { tenantID: tenant.id, request: request.id }, query: { tail: logLines } },
    { enabled: isShown && !hasRead },
  );
  useEffect(() => {
    if (answer.data) setRead(true);
  }, [answer.data]);
  if (!isShown)
    return (
      <Group>
        <SecondaryButton onClick={() => setShown(true)}>Show build log</SecondaryButton>
      </Group>
    );
  return (
    <QueryView answer={answer} lines={4}>
      {({ items }) =>
        items.length === 0 ? (
          <Alert color="gray">The log is empty.</Alert>
        ) : (
          <Mono component="pre" aria-label="Build log" style={{ overflowX: 'auto' }}>
            {items.map(({ text }) => text).join('\n')}
          </Mono>
        )
      }
    </QueryView>
  );
}
