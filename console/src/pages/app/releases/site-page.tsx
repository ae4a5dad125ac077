import { Alert, Stack } from '@mantine/core';
import { getSite } from '@svc/contract/static-sites.ts';
import { useAnswer } from '../../../api/use-answer.ts';
import { AnswerView } from '../../../parts/answer-view.tsx';
import { useApp } from '../use-app.ts';
import { DeployFolder } from './deploy-folder.tsx';
import { ReleaseList } from './release-list.tsx';
import { SiteCard } from './site-card.tsx';

const everyMs = 10_000;

export function SitePage() {
  const { app, params } = useApp();
  const answer = useAnswer(getSite, { params }, { everyMs });
  return (
    <AnswerView answer={answer} lines={8}>
      {(site) => (
        <Stack gap="xl">
          {app.deploy_method !== 'static' && (
            <Alert color="blue" title={`This app is deployed by ${app.deploy_method}`}>
              A site of files is seen only until the app is deployed so; then that answers in its place.
            </Alert>
          )}
          <SiteCard site={site} />
          <DeployFolder />
          <ReleaseList />
        </Stack>
      )}
    </AnswerView>
  );
}
