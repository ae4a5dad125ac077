import { MantineProvider } from '@mantine/core';
import { QueryClientProvider } from '@tanstack/react-query';
import { createRoot } from 'react-dom/client';
import { queryClient } from './api/query-client.ts';
import { ChangeDialogs } from './change/change-dialog.tsx';
import { SessionGate } from './layout/session-gate.tsx';
import { Told } from './parts/told.tsx';
import { Routes } from './routes.tsx';
import { theme } from './theme.ts';
import { themeVariables } from './theme-variables.ts';

const root = document.getElementById('root');
if (!root) throw new Error('The page has no place for the console.');
createRoot(root).render(
  <MantineProvider theme={theme} cssVariablesResolver={themeVariables} defaultColorScheme="auto">
    <QueryClientProvider client={queryClient}>
      <Told>
        <ChangeDialogs>
          <SessionGate>
            <Routes />
          </SessionGate>
        </ChangeDialogs>
      </Told>
    </QueryClientProvider>
  </MantineProvider>,
);
