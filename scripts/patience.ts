/**
 * A promise such as "within a second" is about a server that is given the time. In a run of the whole suite many
 * programs share the cores, so every limit is longer there.
 */
const patience = Number(process.env.SVC_TEST_PATIENCE ?? 1);

export const patientMs = (ms: number): number => ms * patience;
