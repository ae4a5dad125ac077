/** Of a command that declares no `timeoutDefault` of its own. */
export const timeoutMsDefault = 60_000;
