// SPDX-License-Identifier: MIT
// PostgreSQL with pgvector for tests: node pglite_server.mjs PACKAGES DATA PORT [DIE_AFTER_COMMITS]
// PACKAGES is the folder with node_modules, DATA the database's folder, PORT 0 any. Prints the port when it
// listens. With DIE_AFTER_COMMITS the process is killed when so many COMMITs are done, the last unanswered.
import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'

const [packages, data, port, dieAfter] = process.argv.slice(2)
const require = createRequire(pathToFileURL(`${packages}/package.json`))
const load = (name) => import(pathToFileURL(require.resolve(`@electric-sql/${name}`)))
const { PGlite } = await load('pglite')
const { vector } = await load('pglite-pgvector')
const { PGLiteSocketServer } = await load('pglite-socket')

const db = await PGlite.create({ dataDir: data, extensions: { vector } })
await db.exec('CREATE EXTENSION IF NOT EXISTS vector')

// PGlite reads the rows of COPY FROM STDIN from the message that asks for it: they are collected here.
const run = db.execProtocolRawStream.bind(db)
const text = (message) => Buffer.from(message.subarray(5, message.length - 1)).toString()
let copying = null
let commits = 0
db.execProtocolRawStream = async (message, options) => {
  const kind = String.fromCharCode(message[0])
  if (kind === 'Q' && /^COPY .* FROM STDIN/.test(text(message))) {
    copying = [message]
    const answer = Buffer.from([0x47, 0, 0, 0, 7, 1, 0, 0]) // CopyInResponse
    return options.onRawData(new Uint8Array(answer))
  }
  if (copying) {
    copying.push(message)
    if (kind !== 'c' && kind !== 'f') return
    const whole = new Uint8Array(Buffer.concat(copying))
    copying = null
    return run(whole, {
      ...options,
      onRawData: (bytes) => {
        const answered = bytes[0] === 0x47 ? 1 + Buffer.from(bytes).readUInt32BE(1) : 0
        if (bytes.length > answered) options.onRawData(bytes.subarray(answered))
      },
    })
  }
  const result = await run(message, kind === 'Q' && text(message) === 'COMMIT' && ++commits == dieAfter
    ? { ...options, onRawData: () => {} } : options)
  if (commits == dieAfter) process.kill(process.pid, 'SIGKILL')
  return result
}

const server = new PGLiteSocketServer({ db, port: +port, host: '127.0.0.1', maxConnections: 8 })
server.addEventListener('listening', (event) => console.log(event.detail.port))
await server.start()
