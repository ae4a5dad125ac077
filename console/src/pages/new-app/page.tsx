import { Group, Paper, SimpleGrid, Stack, Text, ThemeIcon } from '@mantine/core';
import { consolePaths } from '@svc/contract/console-paths.ts';
import { IconGitFork, IconSquarePlus, IconTemplate } from '@tabler/icons-react';
import { useState } from 'react';
import { useLocation } from 'wouter';
import { useTenant } from '../../api/me.ts';
import { LinkTo, PageHead } from '../../components/page-layout.tsx';
import { Heading } from '../../components/text.tsx';
import { useUrlChoice, useUrlValue } from '../../components/url-state.ts';
import { BackLink } from '../admin/form-page.tsx';
import { EmptyForm } from './empty-form.tsx';
import { ForkForm, TemplateForm } from './repo-forms.tsx';
import { type GitCode, RunProgress, type StartedRun } from './run-progress.tsx';

export default function NewAppPage() {
  const tenant = useTenant();
  const [, go] = useLocation();
  const [way] = useUrlChoice('way', 'choose', ['choose', ...ways]);
  const [run] = useUrlValue('run');
  const [code, setCode] = useState<GitCode | null>(null);
  const here = consolePaths.newApp(tenant.slug);
  const onStarted = ({ id, approval }: StartedRun) => {
    setCode(approval);
    go(`${here}?run=${id}`);
  };
  const isChosen = run !== '' || way !== 'choose';
  return (
    <>
      <PageHead title="New app" lead="The app is private until a review publishes it." />
      <Stack maw={960}>
        {isChosen && <BackLink to={here} label="All options" />}
        {run !== '' && <RunProgress id={run} code={code} setCode={setCode} />}
        {run === '' && way === 'choose' && <WayCards />}
        {run === '' && way === 'template' && <TemplateForm onStarted={onStarted} />}
        {run === '' && way === 'empty' && <EmptyForm />}
        {run === '' && way === 'fork' && <ForkForm onStarted={onStarted} />}
      </Stack>
    </>
  );
}

const cards: readonly { way: Way; title: string; text: string; icon: typeof IconTemplate }[] = [
  {
    way: 'template',
    title: 'From a template',
    text: 'A repository with working code, connected and deployed within a minute.',
    icon: IconTemplate,
  },
  {
    way: 'empty',
    title: 'An empty app',
    text: 'A URL, tables and storage. Deploy your own code to it.',
    icon: IconSquarePlus,
  },
  {
    way: 'fork',
    title: 'A fork',
    text: 'The code and settings of an existing app, without its rows, secrets or people.',
    icon: IconGitFork,
  },
];

function WayCards() {
  const [here] = useLocation();
  return (
    <SimpleGrid cols={{ base: 1, sm: 3 }}>
      {cards.map(({ way, title, text, icon: Icon }) => (
        <Paper key={way} withBorder p="lg" className="covered">
          <Stack gap="sm">
            <Group gap="sm" wrap="nowrap">
              <ThemeIcon variant="light" size="lg" aria-hidden>
                <Icon size={20} />
              </ThemeIcon>
              <Heading>
                <LinkTo to={`${here}?way=${way}`} inherit className="cover">
                  {title}
                </LinkTo>
              </Heading>
            </Group>
            <Text size="sm">{text}</Text>
          </Stack>
        </Paper>
      ))}
    </SimpleGrid>
  );
}

const ways = ['template', 'empty', 'fork'] as const;
type Way = (typeof ways)[number];
