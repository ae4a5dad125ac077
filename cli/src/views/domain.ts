import type { View } from '../command.ts';

export const domainView: View = {
  columns: [
    ...['id', 'host_unicode', 'status'],
    { title: 'ownership', value: (domain) => stateOf(domain.ownership) },
    { title: 'routing', value: (domain) => stateOf(domain.routing) },
    { title: 'certificate', value: (domain) => stateOf(domain.certificate) },
  ],
};

function stateOf(check: unknown): unknown {
  return typeof check === 'object' && check !== null && 'state' in check ? check.state : '';
}
