import { Alert, Group, List, Progress, Stack, Text, TextInput } from '@mantine/core';
import { createRelease, releaseVersionCharsMax } from '@svc/contract/static-sites.ts';
import { IconFolderUp } from '@tabler/icons-react';
import { BusyButton } from '../../../components/buttons.tsx';
import { formatBytes, percent } from '../../../components/format.ts';
import { ExternalLink, SmallLink } from '../../../components/page-layout.tsx';
import { ProblemAlert } from '../../../components/problem-alert.tsx';
import { Heading, SecondaryButton, SmallButton } from '../../../components/text.tsx';
import { useFields } from '../../../components/use-form.ts';
import { DropArea, SelectFiles } from '../files/select-files.tsx';
import { whyNotActive } from '../rules.ts';
import { useApp } from '../use-app.tsx';
import type { SiteFiles } from './site-files.ts';
import { type DeployStage, useFolderDeploy } from './use-folder-deploy.ts';

export function DeployFolder() {
  const { app, why } = useApp();
  const { values, field } = useFields({ version: '' });
  const { siteFiles, stage, problem, isBusy, choose, deploy, end, cancel, reset } = useFolderDeploy();
  const reason = why(createRelease) ?? whyNotActive(app);
  const isUnderWay = stage.at === 'reading' || stage.at === 'sending';
  return (
    <Stack gap="sm" component="section" aria-labelledby="deploy-title">
      <Heading id="deploy-title">Deploy a folder</Heading>
      <DropArea onFiles={choose} isOff={reason !== null || isUnderWay}>
        <Stack gap="sm">
          <SelectFiles
            what="folder"
            verb="Choose folder"
            label="Folder to deploy"
            icon={IconFolderUp}
            why={reason ?? (isUnderWay ? 'A folder is being deployed.' : null)}
            onFiles={choose}
          >
            or drop it here: the output folder of your build, with its index.html.
          </SelectFiles>
          {siteFiles && (
            <>
              <FolderSummary siteFiles={siteFiles} />
              {!isUnderWay && stage.at !== 'sent' && siteFiles.faults.length === 0 && (
                <Group align="flex-end">
                  <TextInput
                    {...field('version')}
                    description="Optional label"
                    placeholder="1.2.0"
                    maxLength={releaseVersionCharsMax}
                  />
                  <BusyButton loading={isBusy} onClick={() => void deploy(values.version)}>
                    Deploy
                  </BusyButton>
                  <SecondaryButton onClick={reset}>Choose another</SecondaryButton>
                </Group>
              )}
            </>
          )}
          <DeployProgress stage={stage} isBusy={isBusy} cancel={cancel} end={end} />
          <ProblemAlert error={problem} />
        </Stack>
      </DropArea>
    </Stack>
  );
}

function FolderSummary({ siteFiles }: { siteFiles: SiteFiles<File> }) {
  const { files, bytes, leftOut, faults } = siteFiles;
  return (
    <Stack gap="xs">
      {faults.length > 0 ? (
        <Alert color="red" title="This folder cannot be deployed">
          <List size="sm">
            {faults.map((fault) => (
              <List.Item key={fault}>{fault}</List.Item>
            ))}
          </List>
        </Alert>
      ) : (
        <Text>
          {files.length === 1 ? '1 file' : `${files.length} files`}, {formatBytes(bytes)}.
          {!files.some(({ path }) => path === 'index.html') &&
            ' It has no index.html at the top level. Is this the right folder?'}
        </Text>
      )}
      {leftOut.length > 0 && (
        <Alert color="yellow" title="Excluded">
          <Text size="sm">{excludedText(leftOut)}</Text>
          {leftOut.some((path) => path.startsWith('svc.')) && (
            <Text size="sm">
              Only svc reads the site settings in the svc file; here they are under Configuration.
            </Text>
          )}
        </Alert>
      )}
    </Stack>
  );
}

const namedMax = 8;

function excludedText(leftOut: readonly string[]): string {
  const named = leftOut.slice(0, namedMax).join(', ');
  const more = leftOut.length - namedMax;
  return `${named}${more > 0 ? ` and ${more} more` : ''}: tool files and files that may contain secrets are not deployed.`;
}

function DeployProgress({
  stage,
  isBusy,
  cancel,
  end,
}: {
  stage: DeployStage;
  isBusy: boolean;
  cancel: () => void;
  end: (release: string) => Promise<void>;
}) {
  const { paths } = useApp();
  switch (stage.at) {
    case 'choosing':
      return null;
    case 'reading':
    case 'sending': {
      const { bytes, total } = stage;
      const label = stage.at === 'reading' ? 'Reading the files' : 'Uploading missing files';
      return (
        <Stack gap={4}>
          <Text size="sm" role="status">
            {label}: {formatBytes(bytes)} of {formatBytes(total)}
          </Text>
          <Group wrap="nowrap">
            <Progress.Root flex={1}>
              <Progress.Section value={percent(bytes, total)} aria-label={label} />
            </Progress.Root>
            <SmallButton onClick={cancel}>Stop</SmallButton>
          </Group>
        </Stack>
      );
    }
    case 'sent':
      return (
        <Alert color="blue" title="All files are uploaded">
          <Group>
            <Text size="sm">They go live when you finish the release.</Text>
            <BusyButton size="compact-sm" loading={isBusy} onClick={() => void end(stage.release)}>
              Finish release
            </BusyButton>
          </Group>
        </Alert>
      );
    case 'done':
      return (
        <Alert color="green" title="Deployed">
          <Group>
            <Text size="sm">{stage.text}</Text>
            {stage.url && (
              <ExternalLink size="sm" to={stage.url}>
                Open
              </ExternalLink>
            )}
            <SmallLink to={paths.release(stage.release)}>Show release</SmallLink>
          </Group>
        </Alert>
      );
    case 'stopped':
      return (
        <Stack gap="xs">
          <Alert color="yellow" title="Stopped">
            Uploaded files are stored. Deploy the same folder again to continue.
          </Alert>
          <ProblemAlert error={stage.problem} />
        </Stack>
      );
  }
}
