import { Alert, Button, Stack, Text } from '@mantine/core';
import { IconAlertCircle } from '@tabler/icons-react';
import { Component, type ReactNode } from 'react';

/** What a page breaks at stays within it: the way to others stays open. */
export class PageBoundary extends Component<{ at: string; children: ReactNode }, { error: unknown }> {
  override state: { error: unknown } = { error: null };

  static getDerivedStateFromError(error: unknown) {
    return { error };
  }

  /** Another page may be as good as ever. */
  override componentDidUpdate({ at }: { at: string }) {
    if (at !== this.props.at && this.state.error !== null) this.setState({ error: null });
  }

  override componentDidCatch(error: unknown) {
    // After an upgrade the parts of the page have other names: the page itself is asked for anew, once.
    if (isLoadFailure(error) && mayReload()) location.reload();
  }

  override render() {
    const { error } = this.state;
    if (error === null) return this.props.children;
    const isAway = isLoadFailure(error);
    return (
      <Alert
        color="red"
        role="alert"
        icon={<IconAlertCircle aria-hidden />}
        title="The page can not be shown"
      >
        <Stack align="flex-start" gap="sm">
          <Text size="sm">
            {isAway
              ? 'A part of it could not be loaded: the server is away, or was upgraded meanwhile.'
              : `Something is wrong with the page itself: ${error instanceof Error ? error.message : String(error)}`}
          </Text>
          <Button size="compact-sm" variant="default" onClick={() => location.reload()}>
            Load the page again
          </Button>
        </Stack>
      </Alert>
    );
  }
}

function isLoadFailure(error: unknown): boolean {
  return error instanceof TypeError && /import|module script/i.test(error.message);
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
