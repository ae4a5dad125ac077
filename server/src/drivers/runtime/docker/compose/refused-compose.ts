/** What in a compose file is not done here, in words for its author. */
export class RefusedCompose extends Error {
  constructor(service: string | null, key: string | null, why: string) {
    const where = [service === null ? null : `service ${service}`, key].filter((part) => part !== null);
    super(`The compose file${where.length > 0 ? `: ${where.join(': ')}` : ''} ${why}.`);
    this.name = 'RefusedCompose';
  }
}
