import { SimpleGrid, Switch, TextInput } from '@mantine/core';

export interface RepoDraft {
  owner: string;
  isPrivate: boolean;
}

export const usualRepo: RepoDraft = { owner: '', isPrivate: true };

/** As the API takes it; an empty owner is the account's own. */
export function repoBody({ owner, isPrivate }: RepoDraft): {
  git_host_owner?: string;
  repo_private: boolean;
} {
  return { repo_private: isPrivate, ...(owner.trim() === '' ? {} : { git_host_owner: owner.trim() }) };
}

/** Whose the repository will be, and who can read it. */
export function RepoFields({
  repo,
  set,
  errorOf,
}: {
  repo: RepoDraft;
  set: (repo: RepoDraft) => void;
  errorOf: (field: string) => string | undefined;
}) {
  return (
    <SimpleGrid cols={{ base: 1, sm: 2 }}>
      <TextInput
        label="Owner of the repository"
        description="An account at the git host; empty: your own."
        value={repo.owner}
        onChange={(event) => set({ ...repo, owner: event.currentTarget.value })}
        error={errorOf('git_host_owner')}
        classNames={{ input: 'mono' }}
      />
      <Switch
        label="Private repository"
        description="Only who has access at the git host reads its code."
        checked={repo.isPrivate}
        onChange={(event) => set({ ...repo, isPrivate: event.currentTarget.checked })}
        mt={{ base: 0, sm: 26 }}
      />
    </SimpleGrid>
  );
}
