/** What stands in a search box that belongs to a word of the address. */
export interface TypedText {
  text: string;
  /** What the address said when it was last looked at. */
  seen: string;
  /** What was last put into the address from here. */
  sent: string;
}

/**
 * The box after the address has changed. What came there from the box leaves it alone, since more may have been typed
 * meanwhile; what came by a link or the back button stands in the box.
 */
export function followed(typed: TypedText, address: string): TypedText {
  if (address === typed.seen) return typed;
  if (address === typed.sent) return { ...typed, seen: address };
  return { text: address, seen: address, sent: address };
}
