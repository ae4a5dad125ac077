import { getStorage, listObjects } from '@svc/contract/storage.ts';
import { useAnswer } from '../../../api/use-answer.ts';
import { AnswerView } from '../../../parts/answer-view.tsx';
import { Empty } from '../../../parts/empty.tsx';
import { OnlyFor } from '../../../parts/only-for.tsx';
import { useApp } from '../use-app.ts';
import { EnableStorage } from './enable-storage.tsx';
import { StorageBrowser } from './storage-browser.tsx';
import { StorageUse } from './storage-use.tsx';

/** Files that the app keeps, as folders. */
export default function StorageTab() {
  const { why } = useApp();
  return (
    <OnlyFor why={why(getStorage)} what="the storage of this app">
      <Storage />
    </OnlyFor>
  );
}

function Storage() {
  const { params, why } = useApp();
  const answer = useAnswer(getStorage, { params });
  const reason = why(listObjects);
  return (
    <AnswerView answer={answer}>
      {(storage) => {
        if (!storage.enabled) return <EnableStorage />;
        return (
          <>
            <StorageUse storage={storage} />
            {reason === null ? (
              <StorageBrowser />
            ) : (
              <Empty title="You see how much there is, and no file">
                {reason.replace('do this', 'look at the files')} Tenant admins see how much is used.
              </Empty>
            )}
          </>
        );
      }}
    </AnswerView>
  );
}
