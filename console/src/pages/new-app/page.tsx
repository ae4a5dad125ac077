import { Stack } from '@mantine/core';
import { consolePaths } from '@svc/contract/console-paths.ts';
import { useState } from 'react';
import { useLocation } from 'wouter';
import { useTenant } from '../../api/me.ts';
import { PageHead } from '../../parts/page-head.tsx';
import { useQueryParam } from '../../parts/use-query-param.ts';
import { useSearchValue } from '../../parts/use-search-value.ts';
import { BackLink } from '../admin/form-frame.tsx';
import { EmptyForm } from './empty-form.tsx';
import { ForkForm } from './fork-form.tsx';
import { RunProgress } from './run-progress.tsx';
import type { GitCode, StartedRun } from './started-run.ts';
import { TemplateForm } from './template-form.tsx';
import { WayCards } from './way-cards.tsx';
import { ways } from './ways.ts';

/** Three ways to an app; `?run=` shows how far one that was begun has come. */
export default function NewAppPage() {
  const tenant = useTenant();
  const [, go] = useLocation();
  const [way] = useQueryParam('way', 'choose', ['choose', ...ways]);
  const [run] = useSearchValue('run');
  // The code is a secret of the moment: it is kept nowhere, and another can be had.
  const [code, setCode] = useState<GitCode | null>(null);
  const here = consolePaths.newApp(tenant.slug);
  const started = ({ id, approval }: StartedRun) => {
    setCode(approval);
    go(`${here}?run=${id}`);
  };
  const isChosen = run !== '' || way !== 'choose';
  return (
    <>
      <PageHead title="New app" lead="It is yours, and private until a review shows it to more people." />
      <Stack maw={960}>
        {isChosen && <BackLink to={here} label="All ways" />}
        {run !== '' && <RunProgress id={run} code={code} setCode={setCode} />}
        {run === '' && way === 'choose' && <WayCards />}
        {run === '' && way === 'template' && <TemplateForm started={started} />}
        {run === '' && way === 'empty' && <EmptyForm />}
        {run === '' && way === 'fork' && <ForkForm started={started} />}
      </Stack>
    </>
  );
}
