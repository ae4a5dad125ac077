/** The tables of all apps are on Citus, which refuses some of what PostgreSQL can do: `docs/guides/citus.md`. */
export const isOnCitus = process.env.SVC_TEST_CITUS_URL !== undefined;

/** The line of an error in a batch: Citus does not pass it on. */
export const lineOf = (line: number): number | undefined => (isOnCitus ? undefined : line);

/** The warnings of a preview, which on Citus are without numbers. */
export const foreseen = (warnings: readonly string[]): string[] =>
  warnings.map((warning) =>
    isOnCitus
      ? warning
          .replace(
            /^Deletes \d+ rows? of (.+) as well\.$/,
            'Rows of $1 that refer to deleted rows are deleted as well.',
          )
          .replace(
            /^Clears the references of \d+ rows? of (.+)\.$/,
            'References of $1 to deleted rows are cleared.',
          )
      : warning,
  );
