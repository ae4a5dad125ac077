import { Alert, List, Stack, Text } from '@mantine/core';
import { readableBytes } from '../../../parts/readable-bytes.ts';
import type { Picked } from './pick-site-files.ts';

/** What will be deployed of a folder, what will not, and why it may not be deployed at all. */
export function PickedFolder({ picked }: { picked: Picked<File> }) {
  const { files, bytes, leftOut, faults } = picked;
  return (
    <Stack gap="xs">
      {faults.length > 0 ? (
        <Alert color="red" title="This folder can not be deployed">
          <List size="sm">
            {faults.map((fault) => (
              <List.Item key={fault}>{fault}</List.Item>
            ))}
          </List>
        </Alert>
      ) : (
        <Text>
          {files.length === 1 ? '1 file' : `${files.length} files`}, {readableBytes(bytes)}.
          {!files.some(({ path }) => path === 'index.html') &&
            ' There is no index.html at its top: is it the right folder?'}
        </Text>
      )}
      {leftOut.length > 0 && (
        <Alert color="yellow" title="Left out">
          <Text size="sm">{leftOutText(leftOut)}</Text>
          {leftOut.some((path) => path.startsWith('svc.')) && (
            <Text size="sm">
              What its svc file says of the site is read by svc alone; here it stands under Configuration.
            </Text>
          )}
        </Alert>
      )}
    </Stack>
  );
}

const namedMax = 8;

function leftOutText(leftOut: readonly string[]): string {
  const named = leftOut.slice(0, namedMax).join(', ');
  const more = leftOut.length - namedMax;
  return `${named}${more > 0 ? ` and ${more} more` : ''}: what tools keep for themselves and what may hold secrets is no part of a site.`;
}
