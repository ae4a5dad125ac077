import type { View } from '../command.ts';

export const domainView: View = {
  columns: [
    'id',
    { title: 'host', value: hostOf },
    'status',
    { title: 'ownership', value: (domain) => stateOf(domain.ownership) },
    { title: 'routing', value: (domain) => stateOf(domain.routing) },
    { title: 'certificate', value: (domain) => stateOf(domain.certificate) },
  ],
};

/** As people write it, and where that is another, as the DNS does. */
function hostOf({ host, host_unicode: unicode }: Record<string, unknown>): unknown {
  return host === unicode ? host : `${unicode} (${host})`;
}

function stateOf(check: unknown): unknown {
  return typeof check === 'object' && check !== null && 'state' in check ? check.state : '';
}
