import { SegmentedControl, Stack } from '@mantine/core';
import { consolePaths } from '@svc/contract/console-paths.ts';
import { useTenant } from '../../api/me.ts';
import { NewButton } from '../../parts/new-button.tsx';
import { PageHead } from '../../parts/page-head.tsx';
import { useQueryParam } from '../../parts/use-query-param.ts';
import { DeletedApps } from './deleted-apps.tsx';
import { OwnApps } from './own-apps.tsx';

const kinds = ['own', 'deleted'] as const;
const labels = { own: 'In use', deleted: 'Deleted' };

/** One's apps, and those that are deleted and can be brought back. */
export default function MyAppsPage() {
  const tenant = useTenant();
  const [kind, setKind] = useQueryParam<(typeof kinds)[number]>('show', 'own', kinds);
  const create = <NewButton to={consolePaths.newApp(tenant.slug)} label="New app" />;
  return (
    <>
      <PageHead
        title="My apps"
        lead={
          kind === 'own'
            ? 'Yours, those you look after with others, and those you are invited to.'
            : 'Deleted apps that you can restore or purge.'
        }
        actions={create}
      />
      <Stack>
        <SegmentedControl
          aria-label="Which apps"
          value={kind}
          onChange={(value) => setKind(value === 'deleted' ? 'deleted' : 'own')}
          data={kinds.map((value) => ({ value, label: labels[value] }))}
          style={{ alignSelf: 'flex-start' }}
        />
        <div>{kind === 'own' ? <OwnApps create={create} /> : <DeletedApps />}</div>
      </Stack>
    </>
  );
}
