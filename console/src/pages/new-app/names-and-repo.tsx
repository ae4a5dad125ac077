import { useState } from 'react';
import { type AppNames, namesOf, noNames } from './app-names.ts';
import { NameFields } from './name-fields.tsx';
import { RepoFields, repoBody, usualRepo } from './repo-fields.tsx';

/** What is typed for an app that comes with a repository of its own, and the same as the API takes it. */
export function useNamesAndRepo() {
  const [names, setNames] = useState(noNames);
  const [repo, setRepo] = useState(usualRepo);
  const { slug, subdomain } = namesOf(names);
  return {
    names,
    setNames: (part: Partial<AppNames>) => setNames((old) => ({ ...old, ...part })),
    repo,
    setRepo,
    body: { slug, name: names.name.trim() || slug, subdomain, ...repoBody(repo) },
  };
}

export function NamesAndRepo({
  typed: { names, setNames, repo, setRepo },
  errorOf,
}: {
  typed: ReturnType<typeof useNamesAndRepo>;
  errorOf: (field: string) => string | undefined;
}) {
  return (
    <>
      <NameFields names={names} set={setNames} errorOf={errorOf} />
      <RepoFields repo={repo} set={setRepo} errorOf={errorOf} />
    </>
  );
}
