import { CliError } from '../errors.ts';

/**
 * An address that a browser may be sent to, in its plain spelling. Others come from outside too, and whatever opens
 * addresses also opens files and starts programs.
 */
export function webAddress(text: string): string {
  const url = URL.parse(text);
  const isOfTheWeb = url !== null && (url.protocol === 'http:' || url.protocol === 'https:');
  if (isOfTheWeb && url.username === '' && url.password === '') return url.href;
  throw new CliError('not_this_service', 'The server gave an address that is none of the web.', {
    next: 'Is SVC_BASE_URL right?',
  });
}
