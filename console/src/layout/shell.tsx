import { AppShell, Box, Burger, Group } from '@mantine/core';
import { useDisclosure, useWindowEvent } from '@mantine/hooks';
import { type ReactNode, useEffect, useRef } from 'react';
import { useLocation } from 'wouter';
import { Logo, NotificationBell, TenantSwitch, UserMenu } from './header.tsx';

import { Nav } from './nav.tsx';

export function Shell({ children }: { children: ReactNode }) {
  const [isOpen, { toggle, close }] = useDisclosure();
  const main = useRef<HTMLDivElement>(null);
  const [path] = useLocation();
  const shownPath = useRef(path);
  const isGoingBack = useRef(false);

  useEffect(() => {
    if (shownPath.current === path) return;
    shownPath.current = path;
    close();
    if (!isGoingBack.current) window.scrollTo(0, 0);
    isGoingBack.current = false;
    // Keyboard users who move through the tabs keep their focus on the tab.
    if (document.activeElement?.getAttribute('role') === 'tab') return;
    main.current?.focus({ preventScroll: true });
  }, [path, close]);

  // On back and forward the browser restores the scroll position.
  useWindowEvent('popstate', () => {
    isGoingBack.current = true;
  });

  return (
    <AppShell
      header={{ height: 56 }}
      navbar={{ width: 232, breakpoint: 'sm', collapsed: { mobile: !isOpen } }}
      padding={{ base: 'md', md: 'lg' }}
      transitionDuration={0}
    >
      <a className="skip" href="#page">
        Skip to content
      </a>
      <AppShell.Header>
        <Group h="100%" px="md" justify="space-between" wrap="nowrap" gap="xs">
          <Group gap="sm" wrap="nowrap">
            <Burger
              opened={isOpen}
              onClick={toggle}
              hiddenFrom="sm"
              size="sm"
              aria-label={isOpen ? 'Close menu' : 'Open menu'}
              aria-expanded={isOpen}
            />
            <Box visibleFrom="xs">
              <Logo />
            </Box>
            <TenantSwitch />
          </Group>
          <Group gap="xs" wrap="nowrap">
            <NotificationBell />
            <UserMenu />
          </Group>
        </Group>
      </AppShell.Header>
      <AppShell.Navbar p="sm">
        <Nav />
      </AppShell.Navbar>
      <AppShell.Main>
        <Box ref={main} id="page" tabIndex={-1} maw={1720} mx="auto" style={{ outline: 'none' }}>
          {children}
        </Box>
      </AppShell.Main>
    </AppShell>
  );
}
