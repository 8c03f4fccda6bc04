import { dlopen, FFIType, ptr } from 'bun:ffi'

// Connections that send and never read. Between two processes on one machine the kernel buffers more than a mebibyte for a
// client that does not read. With the small segments and windows of a distant client it buffers some kilobytes, and the rest
// stays in the server. Only the C library can open sockets with such options.

const solSocket = 1
const soReceiveBuffer = 8
const ipProtocolTcp = 6
const tcpMaxSegment = 2
const addressFamilyInternet = 2
const socketStream = 1

const openLibrary = () =>
  dlopen('libc.so.6', {
    socket: { args: [FFIType.int, FFIType.int, FFIType.int], returns: FFIType.int },
    setsockopt: { args: [FFIType.int, FFIType.int, FFIType.int, FFIType.ptr, FFIType.u32], returns: FFIType.int },
    connect: { args: [FFIType.int, FFIType.ptr, FFIType.u32], returns: FFIType.int },
    send: { args: [FFIType.int, FFIType.ptr, FFIType.u64, FFIType.int], returns: FFIType.i64 },
  }).symbols

/** True if there are such connections here. */
export const canRefuseToRead = (): boolean => {
  try {
    openLibrary()
    return process.platform === 'linux'
  } catch {
    return false
  }
}

/** Opens connections one by one, sends the bytes on each, and leaves them open until the process ends. */
export const openUnread = async (port: number, connections: number, bytes: Uint8Array): Promise<void> => {
  const libc = openLibrary()
  const must = (what: string, result: number | bigint): number => {
    if (Number(result) < 0) throw new Error(`${what} failed`)
    return Number(result)
  }
  const address = Buffer.alloc(16)
  address.writeUInt16LE(addressFamilyInternet, 0)
  address.writeUInt16BE(port, 2)
  address.set([127, 0, 0, 1], 4)
  const number = (n: number): Buffer => Buffer.from(new Int32Array([n]).buffer)
  for (let n = 0; n < connections; n++) {
    const socket = must('socket', libc.socket(addressFamilyInternet, socketStream, 0))
    must('setsockopt', libc.setsockopt(socket, solSocket, soReceiveBuffer, ptr(number(4_096)), 4))
    must('setsockopt', libc.setsockopt(socket, ipProtocolTcp, tcpMaxSegment, ptr(number(536)), 4))
    must('connect', libc.connect(socket, ptr(address), address.length))
    // It fails if the server has refused the request and closed the connection. The others stay.
    libc.send(socket, ptr(bytes), bytes.length, 0)
    if (n % 50 === 49) await Bun.sleep(1)
  }
}
