import { Accordion, Anchor, Code, Group, JsonInput, Stack, Text } from '@mantine/core';
import { siteConfigSchemaPath } from '@svc/contract/site-config.ts';
import { setSite } from '@svc/contract/static-sites.ts';
import { useState } from 'react';
import { useChange } from '../../../change/use-change.ts';
import { MayButton } from '../../../parts/may-button.tsx';
import { ProblemAlert } from '../../../parts/problem-alert.tsx';
import { useApp } from '../use-app.ts';
import { whyNotActive } from '../why-not-active.ts';
import type { SiteView } from './release-view.ts';

/** How files are served: the server checks what is written here, as its own commands do. */
export function ConfigEditor({ site }: { site: SiteView }) {
  const { app, params, why } = useApp();
  const kept = JSON.stringify(site.config, null, 2);
  const [text, setText] = useState(kept);
  const change = useChange(setSite, {
    title: 'Change how the site is served',
    verb: 'Save',
    done: 'The configuration is saved.',
  });
  const config = objectIn(text);
  const reason =
    why(setSite) ??
    whyNotActive(app) ??
    (config === null ? 'Write a JSON object first.' : null) ??
    (text === kept ? 'Nothing is changed.' : null);
  return (
    <Accordion variant="contained" chevronPosition="left">
      <Accordion.Item value="config">
        <Accordion.Control>Configuration</Accordion.Control>
        <Accordion.Panel>
          <Stack gap="sm">
            <JsonInput
              label="How the files are served"
              description={
                <>
                  For example{' '}
                  <Code>{'{"spa": true, "redirects": [{"from": "/old/*", "to": "/:splat"}]}'}</Code>.{' '}
                  <Anchor href={siteConfigSchemaPath} size="xs">
                    The schema
                  </Anchor>{' '}
                  names every key.
                </>
              }
              value={text}
              onChange={setText}
              autosize
              minRows={4}
              maxRows={20}
              spellCheck={false}
              readOnly={why(setSite) !== null}
              error={config === null ? 'This is no JSON object.' : change.errorOf('body')}
              styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)' } }}
            />
            <Text size="sm" c="dimmed">
              What a release says itself in its svc.yaml comes first, key by key. What was reviewed stays as
              it was reviewed.
            </Text>
            {change.problem !== null && <ProblemAlert error={change.problem} />}
            <Group>
              <MayButton
                why={reason}
                loading={change.isBusy}
                onClick={() => void change.propose({ params, body: config ?? {} })}
              >
                Save
              </MayButton>
            </Group>
          </Stack>
        </Accordion.Panel>
      </Accordion.Item>
    </Accordion>
  );
}

function objectIn(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text === '' ? '{}' : text);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : null;
  } catch {
    return null;
  }
}
