import { Accordion, Anchor, Code, Group, JsonInput, Paper, SimpleGrid, Stack, Text } from '@mantine/core';
import { isObject } from '@svc/contract/json.ts';
import { siteConfigSchemaPath } from '@svc/contract/site-config.ts';
import {
  activateRelease,
  disableStaging,
  enableStaging,
  setSite,
  unpublishSite,
} from '@svc/contract/static-sites.ts';
import { useChange } from '../../../change/use-change.ts';
import { ChangeButton } from '../../../components/buttons.tsx';
import { StateBadge } from '../../../components/display.tsx';
import { FormElement, FormEnd, SubmitButton } from '../../../components/form-card.tsx';
import { ExternalLink, withoutScheme } from '../../../components/page-layout.tsx';
import { ProblemAlerts } from '../../../components/problem-alert.tsx';
import { Heading, Hint, SubHeading } from '../../../components/text.tsx';
import { useForm } from '../../../components/use-form.ts';
import { whyNotActive } from '../rules.ts';
import { useApp } from '../use-app.tsx';
import { ReleaseLink, type Site } from './release.tsx';

export function SiteCard({ site }: { site: Site }) {
  const { app } = useApp();
  const { active_release: active, staged_release: staged, promotion } = site;
  const waits = promotion?.status === 'pending' && promotion.release_id === staged?.id;
  return (
    <Stack gap="sm" component="section" aria-labelledby="site-title">
      <Heading id="site-title">Site</Heading>
      <SimpleGrid cols={{ base: 1, md: 2 }}>
        <Host
          title="Live"
          url={site.published ? site.url : null}
          state={site.published ? 'published' : 'nothing'}
          stateText={site.published ? 'published' : active ? 'unpublished' : 'nothing deployed'}
        >
          {active ? (
            <Text>
              {site.published ? 'Release ' : 'Unpublished: release '}
              <ReleaseLink release={active} />
            </Text>
          ) : (
            <Text>Nothing is deployed yet.</Text>
          )}
          {site.published && app.visibility === 'private' && (
            <Hint>The app is private: only its owners can open the site.</Hint>
          )}
        </Host>
        <Host
          title="Staging"
          url={staged ? site.staging_url : null}
          state={staged ? 'staged' : 'off'}
          stateText={site.staging_enabled ? (staged ? 'staged' : 'nothing staged') : 'off'}
        >
          {staged ? (
            <Text>
              Release <ReleaseLink release={staged} />
              {waits && ', waiting for review'}
            </Text>
          ) : (
            <Text>
              {site.staging_enabled
                ? 'Stage a release to check it before it goes live.'
                : 'With staging, owners and reviewers can check a release before it goes live.'}
            </Text>
          )}
        </Host>
      </SimpleGrid>
      <SiteSwitches site={site} />
      <ConfigEditor site={site} />
    </Stack>
  );
}

function Host({
  title,
  url,
  state,
  stateText,
  children,
}: {
  title: string;
  url: string | null;
  state: string;
  stateText: string;
  children: React.ReactNode;
}) {
  return (
    <Paper withBorder p="md">
      <Stack gap="xs">
        <Group justify="space-between">
          <SubHeading>{title}</SubHeading>
          <StateBadge state={state} label={stateText} />
        </Group>
        {children}
        {url !== null && <ExternalLink to={url}>{withoutScheme(url)}</ExternalLink>}
      </Stack>
    </Paper>
  );
}

function SiteSwitches({ site }: { site: Site }) {
  const { app, params, why } = useApp();
  const unpublish = useChange(unpublishSite, { title: 'Unpublish the site', done: 'Site unpublished.' });
  const publish = useChange(activateRelease, {
    title: 'Publish the site again',
    verb: 'Publish again',
    done: 'The site is live again.',
  });
  const stagingOn = useChange(enableStaging, {
    title: 'Enable staging',
    verb: 'Enable staging',
    done: 'Staging enabled.',
  });
  const stagingOff = useChange(disableStaging, {
    title: 'Disable staging',
    verb: 'Disable staging',
    done: 'Staging disabled.',
  });
  const active = site.active_release;
  const notActive = whyNotActive(app);
  return (
    <Stack gap="sm">
      <Group gap="sm">
        {site.published || !active ? (
          <ChangeButton
            why={why(unpublishSite) ?? (active ? null : 'Nothing is live. Deploy a folder first.')}
            change={unpublish}
            input={{ params }}
          >
            Unpublish
          </ChangeButton>
        ) : (
          <ChangeButton
            variant="filled"
            why={why(activateRelease) ?? notActive}
            change={publish}
            input={{ params: { ...params, release: active.id } }}
          >
            Publish again
          </ChangeButton>
        )}
        {site.staging_enabled ? (
          <ChangeButton why={why(disableStaging) ?? notActive} change={stagingOff} input={{ params }}>
            Disable staging
          </ChangeButton>
        ) : (
          <ChangeButton why={why(enableStaging) ?? notActive} change={stagingOn} input={{ params }}>
            Enable staging
          </ChangeButton>
        )}
      </Group>
      <ProblemAlerts changes={[unpublish, publish, stagingOn, stagingOff]} />
    </Stack>
  );
}

function ConfigEditor({ site }: { site: Site }) {
  const { app, params, why } = useApp();
  const saved = JSON.stringify(site.config, null, 2);
  const record = { config: saved };
  const form = useForm(setSite, record, {
    title: 'Update the site configuration',
    verb: 'Save',
    done: 'Configuration saved.',
    whyNot: ({ config }) =>
      why(setSite) ??
      whyNotActive(app) ??
      (parseObject(config) === null ? 'Enter a JSON object first.' : null) ??
      (config === saved ? 'Nothing has changed.' : null),
    input: ({ config }) => ({ params, body: parseObject(config) ?? {} }),
  });
  const isObject = parseObject(form.values.config) !== null;
  return (
    <Accordion variant="contained" chevronPosition="left">
      <Accordion.Item value="config">
        <Accordion.Control>Configuration</Accordion.Control>
        <Accordion.Panel>
          <FormElement form={form}>
            <Stack gap="sm">
              <JsonInput
                {...form.field('config')}
                label="Site configuration"
                description={
                  <>
                    For example{' '}
                    <Code>{'{"spa": true, "redirects": [{"from": "/old/*", "to": "/:splat"}]}'}</Code>.{' '}
                    <Anchor href={siteConfigSchemaPath} size="xs">
                      The schema
                    </Anchor>{' '}
                    lists every key.
                  </>
                }
                autosize
                minRows={4}
                maxRows={20}
                spellCheck={false}
                readOnly={why(setSite) !== null}
                error={isObject ? form.error('body') : 'This is not a JSON object.'}
                styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)' } }}
              />
              <Hint>
                Keys in the svc.yaml of a release take precedence. A reviewed release keeps the configuration
                it was reviewed with.
              </Hint>
              <FormEnd form={form}>
                <SubmitButton form={form}>Save</SubmitButton>
              </FormEnd>
            </Stack>
          </FormElement>
        </Accordion.Panel>
      </Accordion.Item>
    </Accordion>
  );
}

function parseObject(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text === '' ? '{}' : text);
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}
