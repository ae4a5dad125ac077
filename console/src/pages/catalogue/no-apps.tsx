import { Button } from '@mantine/core';
import { Empty } from '../../parts/empty.tsx';
import type { Catalogue } from './use-catalogue.ts';

export function NoApps({ asked }: { asked: Catalogue }) {
  if (!asked.isNarrowed)
    return (
      <Empty title="The catalogue is empty" command="svc publish --app hello --visibility public --execute">
        Apps stand here once their owners have published them for you. Yours is private until you request its
        publication on its page.
      </Empty>
    );
  return (
    <Empty
      title="No app fits"
      command="svc apps discover --q 'other words'"
      action={
        <Button variant="default" onClick={asked.clear}>
          Show all apps
        </Button>
      }
    >
      Try fewer or other words, all categories, or apps made at any time. Private apps of others are not shown
      here; your own stand under My apps.
    </Empty>
  );
}
