import { MantineProvider } from '@mantine/core';
import { QueryClientProvider } from '@tanstack/react-query';
import { createRoot } from 'react-dom/client';
import { queryClient } from './api/client.ts';
import { ChangeDialogs } from './change/change-dialog.tsx';
import { Toasts } from './components/toasts.tsx';
import { SessionGate } from './layout/session-gate.tsx';
import { Routes } from './routes.tsx';
import { theme, themeVariables } from './theme.ts';

const root = document.getElementById('root');
if (!root) throw new Error('The page has no root element.');
createRoot(root).render(
  <MantineProvider theme={theme} cssVariablesResolver={themeVariables} defaultColorScheme="auto">
    <QueryClientProvider client={queryClient}>
      <Toasts>
        <ChangeDialogs>
          <SessionGate>
            <Routes />
          </SessionGate>
        </ChangeDialogs>
      </Toasts>
    </QueryClientProvider>
  </MantineProvider>,
);
