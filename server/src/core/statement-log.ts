export interface LoggedStatement {
  text: string;
  values?: readonly string[];
}

const savepoint = /(?:^|; )(rollback to |release )?savepoint (\w+)$/;

/** What a transaction has done, so that another one can do it again. */
export class StatementLog {
  #statements: LoggedStatement[] = [];
  #savepoints: { name: string; length: number }[] = [];

  add(statement: LoggedStatement): void {
    const [isSavepoint, change, name = ''] = savepoint.exec(statement.text) ?? [];
    if (isSavepoint !== undefined) this.#moveSavepoint(change, name);
    // Timeouts are those of the transaction that has them.
    else if (!statement.text.startsWith('set local ')) this.#statements.push(statement);
  }

  #moveSavepoint(change: string | undefined, name: string): void {
    if (change === undefined) {
      this.#savepoints.push({ name, length: this.#statements.length });
      return;
    }
    const at = this.#savepoints.findLastIndex((each) => each.name === name);
    if (change === 'rollback to ') this.#statements.length = this.#savepoints[at]?.length ?? 0;
    // After a rollback, the savepoint itself is still there.
    this.#savepoints.length = change === 'rollback to ' ? at + 1 : Math.max(at, 0);
  }

  /** Empty if nothing but locks was taken. */
  list(): readonly LoggedStatement[] {
    return this.#statements.some(({ text }) => !text.startsWith('lock table ')) ? this.#statements : [];
  }
}
