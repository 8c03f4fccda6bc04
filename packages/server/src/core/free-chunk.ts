/**
 * Frees the memory of a chunk that was used. The garbage collector notices late how much chunks of a stream take: with a
 * large upload up to 60 MB of them were waiting for it. A view of a part of a buffer is left alone, since others may use the
 * rest.
 */
export const freeChunk = ({ buffer, byteLength }: Uint8Array): void => {
  if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0)
}
