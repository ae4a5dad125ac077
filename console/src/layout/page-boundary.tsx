import { Alert, Stack, Text } from '@mantine/core';
import { IconAlertCircle } from '@tabler/icons-react';
import { Component, type ReactNode } from 'react';
import { SmallButton } from '../components/text.tsx';

interface State {
  error: unknown;
  isAway: boolean;
}

export class PageBoundary extends Component<{ at: string; children: ReactNode }, State> {
  override state: State = { error: null, isAway: false };

  static getDerivedStateFromError(error: unknown) {
    return { error };
  }

  override componentDidUpdate({ at }: { at: string }) {
    if (at !== this.props.at && this.state.error !== null) this.setState({ error: null, isAway: false });
  }

  override async componentDidCatch(error: unknown) {
    if (!isLoadFailure(error)) return;
    const isThere = await isServerThere();
    // After an upgrade the chunks have other names: reload once to get the new page.
    if (isThere && mayReload()) location.reload();
    else this.setState({ isAway: !isThere });
  }

  /** Does not reload while the server is down: the browser's error page would replace the console. */
  async loadAgain() {
    if (await isServerThere()) location.reload();
    else this.setState({ isAway: true });
  }

  override render() {
    const { error, isAway } = this.state;
    if (error === null) return this.props.children;
    return (
      <Alert
        color="red"
        role="alert"
        icon={<IconAlertCircle aria-hidden />}
        title={isAway ? 'No connection' : 'The page failed to load'}
      >
        <Stack align="flex-start" gap="sm">
          <Text size="sm">{isAway ? awayText : textOf(error)}</Text>
          <SmallButton onClick={() => void this.loadAgain()}>
            {isAway ? 'Try again' : 'Reload the page'}
          </SmallButton>
        </Stack>
      </Alert>
    );
  }
}

const awayText =
  'The server did not respond, and this page is not loaded yet. Your input on other pages is not lost.';

function textOf(error: unknown): string {
  if (isLoadFailure(error))
    return 'Part of the page could not be loaded: the server is unavailable or was upgraded.';
  return `The page has an error: ${error instanceof Error ? error.message : String(error)}`;
}

function isLoadFailure(error: unknown): boolean {
  return error instanceof TypeError && /import|module script/i.test(error.message);
}

/** Checks for the console's own page: a proxy in front may respond instead. */
async function isServerThere(): Promise<boolean> {
  try {
    const { ok } = await fetch('/', { method: 'HEAD', cache: 'no-store' });
    return ok;
  } catch {
    return false;
  }
}

const reloadedKey = 'svc.reloaded-at';
const reloadMsMin = 60_000;

/** At most once a minute, in case the chunk stays missing. */
function mayReload(): boolean {
  const last = Number(sessionStorage.getItem(reloadedKey) ?? 0);
  if (Date.now() - last < reloadMsMin) return false;
  sessionStorage.setItem(reloadedKey, String(Date.now()));
  return true;
}
