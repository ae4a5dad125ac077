const headBytes = 5;
/** More than PostgreSQL says to anybody it has not let in. */
const bytesMax = 64 * 1024;

/** Reads what PostgreSQL says, in whatever pieces it comes, until it says that the login is let in. */
export function watchAuthentication(): (bytes: Buffer) => 'waiting' | 'let_in' | 'other' {
  let unread = Buffer.alloc(0);
  let seen = 0;
  return (bytes) => {
    seen += bytes.length;
    unread = Buffer.concat([unread, bytes]);
    while (unread.length >= headBytes) {
      const length = unread.readUInt32BE(1);
      if (length < 4 || seen > bytesMax) return 'other';
      if (unread.length < length + 1) return 'waiting';
      // AuthenticationOk: an 'R' with a zero; with another number it asks for something.
      if (unread[0] === 0x52 && length === 8 && unread.readUInt32BE(headBytes) === 0) return 'let_in';
      unread = unread.subarray(length + 1);
    }
    return 'waiting';
  };
}
