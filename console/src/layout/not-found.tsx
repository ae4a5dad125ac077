import { Center } from '@mantine/core';
import { consolePaths } from '@svc/contract/console-paths.ts';
import { Empty } from '../parts/empty.tsx';
import { LinkTo } from '../parts/link-to.tsx';
import { PageHead } from '../parts/page-head.tsx';

/** `error`: the answer that said so, where one did. */
export function NotFound({ error }: { error?: unknown }) {
  return (
    <>
      <PageHead title="Not found" />
      <Center>
        <Empty
          title="There is nothing here"
          error={error}
          action={<LinkTo to={consolePaths.home}>To the beginning</LinkTo>}
        >
          It is not there, or it is not for you to see. If somebody sent you the address, ask them for access.
        </Empty>
      </Center>
    </>
  );
}
