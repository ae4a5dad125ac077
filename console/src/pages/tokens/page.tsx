import { Button, Code, SegmentedControl, Stack, Text } from '@mantine/core';
import { listPats } from '@svc/contract/identity.ts';
import { IconPlus } from '@tabler/icons-react';
import { useState } from 'react';
import { useTenant } from '../../api/me.ts';
import { useAnswer } from '../../api/use-answer.ts';
import { Empty } from '../../parts/empty.tsx';
import { PageHead } from '../../parts/page-head.tsx';
import { PagedList } from '../../parts/paged-list.tsx';
import { usePage, useSearchValue } from '../../parts/use-search-value.ts';
import { NewToken } from './new-token.tsx';
import { SecretDialog } from './secret-dialog.tsx';
import { TokenList } from './token-list.tsx';

/** Personal access tokens: for programs that read and write rows in one's name. */
export default function TokensPage() {
  const tenant = useTenant();
  const page = usePage();
  const [isNew, setNew] = useSearchValue('new');
  const [whose, setWhose] = useSearchValue('whose');
  const [secret, setSecret] = useState<string | null>(null);
  const isAdmin = tenant.role === 'tenant_admin';
  const all = isAdmin && whose === 'everyone';
  const answer = useAnswer(listPats, {
    params: { tenantID: tenant.id },
    query: { page, all: all ? 'true' : 'false' },
  });
  const create = (
    <Button
      leftSection={<IconPlus size={16} aria-hidden />}
      onClick={() => setNew('1')}
      data-opens="new-token"
    >
      New token
    </Button>
  );
  return (
    <>
      <PageHead
        title="Access tokens"
        lead={
          <>
            For programs: sent as <Code>X-Api-Key</Code>, a token reads and writes rows in your name, and
            nothing else.
          </>
        }
        actions={isNew === '' && create}
      />
      <Stack>
        {isNew !== '' && (
          <NewToken
            close={() => setNew('')}
            onCreated={(created) => {
              setNew('');
              setSecret(created);
            }}
          />
        )}
        {isAdmin && (
          <SegmentedControl
            aria-label="Whose tokens"
            data={[
              { value: '', label: 'Mine' },
              { value: 'everyone', label: 'Everyone’s' },
            ]}
            value={all ? 'everyone' : ''}
            onChange={setWhose}
            style={{ alignSelf: 'flex-start' }}
          />
        )}
        <div>
          <PagedList
            answer={answer}
            empty={
              <Empty
                title={all ? 'Nobody has a token' : 'You have no token yet'}
                command="svc pats create --name ci --actions read,write --execute"
                action={isNew === '' && create}
              >
                <Text span inherit>
                  Give one to a script, a CI job or a server that works with your tables. It can do no more
                  than you can at that moment.
                </Text>
              </Empty>
            }
          >
            {(items) => <TokenList tokens={items} whose={all ? 'everyone' : 'mine'} />}
          </PagedList>
        </div>
      </Stack>
      {secret !== null && <SecretDialog secret={secret} close={() => setSecret(null)} />}
    </>
  );
}
