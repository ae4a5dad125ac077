import { Accordion, Group, List, Stack, TextInput } from '@mantine/core';
import { addDomain, listDomains, pendingDaysMax, wrongHoursMin } from '@svc/contract/domains.ts';
import { useEndpoint } from '../../../api/use-endpoint.ts';
import { FormElement, SubmitButton } from '../../../components/form-card.tsx';
import { EmptyState } from '../../../components/page-layout.tsx';
import { ProblemAlert } from '../../../components/problem-alert.tsx';
import { QueryView } from '../../../components/query-view.tsx';
import { Heading, Hint } from '../../../components/text.tsx';
import { useForm } from '../../../components/use-form.ts';
import { whyNotActive } from '../rules.ts';
import { restrictedTab, useApp } from '../use-app.tsx';
import { DomainCard } from './domain-card.tsx';

export default restrictedTab(listDomains, 'the domains of this app', Domains);

const waitingMs = 5_000;
const idleMs = 30_000;

function Domains() {
  const { app, params } = useApp();
  const first = useEndpoint(listDomains, { params, query: { per_page: 200 } }, { refetchMs: idleMs });
  const waits = first.data?.items.some(({ status }) => status === 'pending') ?? false;
  const answer = useEndpoint(
    listDomains,
    { params, query: { per_page: 200 } },
    { refetchMs: waits ? waitingMs : idleMs },
  );
  return (
    <Stack gap="xl">
      <AddDomain />
      <QueryView answer={answer}>
        {({ items }) =>
          items.length === 0 ? (
            <EmptyState
              title="No domains"
              command={`svc apps domains add www.example.com --app ${app.slug} --execute`}
            >
              The app is available at its platform URL. Add your own host name and publish the DNS records
              shown here to serve it there too, with its own certificate.
            </EmptyState>
          ) : (
            <Stack gap="md" component="section" aria-labelledby="domains-title">
              <Heading id="domains-title">Domains</Heading>
              {items.map((domain) => (
                <DomainCard key={domain.id} domain={domain} />
              ))}
              <StatusLegend />
              <Hint>DNS changes take a while to spread. Pending domains are checked automatically.</Hint>
            </Stack>
          )
        }
      </QueryView>
    </Stack>
  );
}

function AddDomain() {
  const { app, params, why } = useApp();
  const record = { host: '' };
  const form = useForm(addDomain, record, {
    title: 'Add a domain',
    done: 'Domain added. Publish its DNS records now.',
    whyNot: ({ host }) =>
      why(addDomain) ?? whyNotActive(app) ?? (host.trim() === '' ? 'Enter a host name first.' : null),
    input: ({ host }) => ({ params, body: { host: host.trim() } }),
  });
  return (
    <FormElement form={form}>
      <Stack gap="sm">
        <Heading>Add a domain</Heading>
        <Group align="flex-end">
          <TextInput
            {...form.field('host')}
            label="Host name"
            placeholder="www.example.com"
            autoCapitalize="none"
            spellCheck={false}
            flex={1}
            miw={200}
            maw={480}
          />
          <SubmitButton form={form}>Add</SubmitButton>
        </Group>
        {form.error('host') === undefined && <ProblemAlert error={form.problem} />}
      </Stack>
    </FormElement>
  );
}

function StatusLegend() {
  return (
    <Accordion variant="contained" chevronPosition="left">
      <Accordion.Item value="words">
        <Accordion.Control>Status reference</Accordion.Control>
        <Accordion.Panel>
          <List size="sm" spacing="xs">
            <List.Item>
              <strong>pending</strong>: the DNS records are checked for {pendingDaysMax} days. The domain is
              not served yet.
            </List.Item>
            <List.Item>
              <strong>active</strong>: the DNS records are correct, and the app is served at the domain.
            </List.Item>
            <List.Item>
              <strong>disconnected</strong>: the records were not found in time, pointed elsewhere for more
              than {wrongHoursMin} hours, or somebody else owns the domain. “Verify now” starts again.
            </List.Item>
          </List>
        </Accordion.Panel>
      </Accordion.Item>
    </Accordion>
  );
}
