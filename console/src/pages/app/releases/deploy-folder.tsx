import { Button, Group, Stack, TextInput, Title } from '@mantine/core';
import { createRelease, releaseVersionCharsMax } from '@svc/contract/static-sites.ts';
import { IconFolderUp } from '@tabler/icons-react';
import { useState } from 'react';
import { BusyButton } from '../../../parts/busy-button.tsx';
import { ProblemAlert } from '../../../parts/problem-alert.tsx';
import { ChooseFiles } from '../files/choose-files.tsx';
import { DropArea } from '../files/drop-area.tsx';
import { useApp } from '../use-app.ts';
import { whyNotActive } from '../why-not-active.ts';
import { DeployProgress } from './deploy-progress.tsx';
import { PickedFolder } from './picked-folder.tsx';
import { useFolderDeploy } from './use-folder-deploy.ts';

export function DeployFolder() {
  const { app, why } = useApp();
  const [version, setVersion] = useState('');
  const { picked, stage, problem, isBusy, choose, deploy, end, cancel, reset } = useFolderDeploy();
  const reason = why(createRelease) ?? whyNotActive(app);
  const isUnderWay = stage.at === 'reading' || stage.at === 'sending';
  return (
    <Stack gap="sm" component="section" aria-labelledby="deploy-title">
      <Title order={2} size="h4" id="deploy-title">
        Deploy a folder
      </Title>
      <DropArea onFiles={choose} isOff={reason !== null || isUnderWay}>
        <Stack gap="sm">
          <ChooseFiles
            what="folder"
            verb="Choose a folder"
            label="Folder to deploy"
            icon={<IconFolderUp size={16} aria-hidden />}
            why={reason ?? (isUnderWay ? 'A folder is being deployed.' : null)}
            onFiles={choose}
          >
            or drop it here: the folder that your build made, with index.html in it.
          </ChooseFiles>
          {picked && (
            <>
              <PickedFolder picked={picked} />
              {!isUnderWay && stage.at !== 'sent' && picked.faults.length === 0 && (
                <Group align="flex-end">
                  <TextInput
                    label="Version"
                    description="A label, if you like"
                    placeholder="1.2.0"
                    value={version}
                    maxLength={releaseVersionCharsMax}
                    onChange={(event) => setVersion(event.currentTarget.value)}
                  />
                  <BusyButton loading={isBusy} onClick={() => void deploy(version)}>
                    Deploy
                  </BusyButton>
                  <Button variant="default" onClick={reset}>
                    Choose another
                  </Button>
                </Group>
              )}
            </>
          )}
          <DeployProgress stage={stage} isBusy={isBusy} cancel={cancel} end={end} />
          {problem !== null && <ProblemAlert error={problem} />}
        </Stack>
      </DropArea>
    </Stack>
  );
}
