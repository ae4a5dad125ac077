import { Alert, Button, Stack, Text } from '@mantine/core';
import { IconAlertCircle } from '@tabler/icons-react';
import { Component, type ReactNode } from 'react';

interface State {
  error: unknown;
  /** The server did not answer when it was asked after the error. */
  isAway: boolean;
}

/** What a page breaks at stays within it: the way to others stays open. */
export class PageBoundary extends Component<{ at: string; children: ReactNode }, State> {
  override state: State = { error: null, isAway: false };

  static getDerivedStateFromError(error: unknown) {
    return { error };
  }

  /** Another page may be as good as ever. */
  override componentDidUpdate({ at }: { at: string }) {
    if (at !== this.props.at && this.state.error !== null) this.setState({ error: null, isAway: false });
  }

  override async componentDidCatch(error: unknown) {
    if (!isLoadFailure(error)) return;
    const isThere = await isServerThere();
    // After an upgrade the parts of the page have other names: the page itself is asked for anew, once.
    if (isThere && mayReload()) location.reload();
    else this.setState({ isAway: !isThere });
  }

  /** Never while the server is away: the browser's own words would stand in the place of the console. */
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
        title={isAway ? 'No connection' : 'The page can not be shown'}
      >
        <Stack align="flex-start" gap="sm">
          <Text size="sm">{isAway ? awayText : textOf(error)}</Text>
          <Button size="compact-sm" variant="default" onClick={() => void this.loadAgain()}>
            {isAway ? 'Try again' : 'Load the page again'}
          </Button>
        </Stack>
      </Alert>
    );
  }
}

const awayText =
  'The server did not answer, and this page is not loaded yet. What you have typed on others is still there.';

function textOf(error: unknown): string {
  if (isLoadFailure(error))
    return 'A part of it could not be loaded: the server is away, or was upgraded meanwhile.';
  return `Something is wrong with the page itself: ${error instanceof Error ? error.message : String(error)}`;
}

function isLoadFailure(error: unknown): boolean {
  return error instanceof TypeError && /import|module script/i.test(error.message);
}

/** That it shows its page again: what stands before it may answer in its place. */
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

/** Not again and again, where the part stays away. */
function mayReload(): boolean {
  const last = Number(sessionStorage.getItem(reloadedKey) ?? 0);
  if (Date.now() - last < reloadMsMin) return false;
  sessionStorage.setItem(reloadedKey, String(Date.now()));
  return true;
}
