import { Stack, Text, Title } from '@mantine/core';
import { listDomains } from '@svc/contract/domains.ts';
import { useAnswer } from '../../../api/use-answer.ts';
import { AnswerView } from '../../../parts/answer-view.tsx';
import { Empty } from '../../../parts/empty.tsx';
import { OnlyFor } from '../../../parts/only-for.tsx';
import { useApp } from '../use-app.ts';
import { AddDomain } from './add-domain.tsx';
import { DomainCard } from './domain-card.tsx';
import { StatusWords } from './status-words.tsx';

/** Names of one's own at which the app answers. */
export default function DomainsTab() {
  const { why } = useApp();
  return (
    <OnlyFor why={why(listDomains)} what="the domains of this app">
      <Domains />
    </OnlyFor>
  );
}

/** While one of them waits, the page looks more often. */
const waitingMs = 5_000;
const restingMs = 30_000;

function Domains() {
  const { app, params } = useApp();
  const first = useAnswer(listDomains, { params, query: { per_page: 200 } }, { everyMs: restingMs });
  const waits = first.data?.items.some(({ status }) => status === 'pending') ?? false;
  const answer = useAnswer(
    listDomains,
    { params, query: { per_page: 200 } },
    { everyMs: waits ? waitingMs : restingMs },
  );
  return (
    <Stack gap="xl">
      <AddDomain />
      <AnswerView answer={answer}>
        {({ items }) =>
          items.length === 0 ? (
            <Empty
              title="No domain of its own"
              command={`svc apps domains add www.example.com --app ${app.slug} --execute`}
            >
              The app answers at its address of the platform. Add a host name of yours, publish the DNS
              records that you are shown, and it answers there as well, with a certificate of its own.
            </Empty>
          ) : (
            <Stack gap="md" component="section" aria-labelledby="domains-title">
              <Title order={2} size="h4" id="domains-title">
                Domains
              </Title>
              {items.map((domain) => (
                <DomainCard key={domain.id} domain={domain} />
              ))}
              <StatusWords />
              <Text size="sm" c="dimmed">
                Records take a while to be seen everywhere. A domain that waits is looked at by itself.
              </Text>
            </Stack>
          )
        }
      </AnswerView>
    </Stack>
  );
}
