import { scaleUnderLoad } from './suites/scale.ts';

scaleUnderLoad({
  clients: 8,
  moves: ['redeploy', 'scale', 'restart', 'sleep', 'rollback', 'scale', 'sleep', 'redeploy'],
});
