import { Button } from '@mantine/core';
import { Link, useLocation, useSearchParams } from 'wouter';
import { Empty } from './empty.tsx';
import { withValue } from './use-search-value.ts';

/** In the place of a page of a list that has no such page: the list may well have others. */
export function PastTheEnd() {
  const [path] = useLocation();
  const [search] = useSearchParams();
  const first = withValue(search, 'page', '').toString();
  return (
    <Empty
      title="This page is past the end"
      action={
        <Button component={Link} href={first === '' ? path : `${path}?${first}`} variant="default">
          To the first page
        </Button>
      }
    >
      The list has become shorter, or the address is wrong.
    </Empty>
  );
}
