import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Script } from 'node:vm'
import { commonTokens, declareClassPlugin, PluginKind, tokens } from '@stryker-mutator/api/plugin'
import { DryRunStatus, determineHitLimitReached, TestStatus, toMutantRunResult } from '@stryker-mutator/api/test-runner'

/** How long each test took in the first run, in the sandbox: written by one process, read by all. */
const timings = 'mutation-timings.json'

/**
 * Runs test files of Vitest in the process of Stryker's runner, by Vitest's own runner of suites. Stryker's plugin for
 * Vitest starts a thread and loads and transforms every module again for each mutant: 0.8 s of a core, of which the
 * tests take 0.02 s. Here all test files are one bundle, compiled once. It is evaluated anew for each mutant, so
 * that nothing which one mutant has left in a cache of a module is seen by the next.
 */
class InProcessRunner {
  static inject = tokens(commonTokens.options)
  #paths
  #evaluate
  #packages = new Map()
  #patterns
  #suites
  #timings
  #stray
  #watch = new Watch()

  constructor(options) {
    this.#patterns = options.inProcess
  }

  capabilities() {
    return { reloadEnvironment: true } // each run evaluates the modules anew
  }

  async init() {
    const require = createRequire(join(process.cwd(), 'package.json'))
    const besideVitest = createRequire(require.resolve('vitest/package.json'))
    this.#suites = await import(besideVitest.resolve('@vitest/runner'))
    const { glob } = await import(besideVitest.resolve('tinyglobby'))
    const paths = await glob(this.#patterns.include, { ignore: this.#patterns.exclude })
    this.#paths = paths.sort()
    const { packages, text } = bundleOf(this.#paths, createRequire(require.resolve('tsx/package.json')))
    for (const name of packages) {
      this.#packages.set(name, name.startsWith('node:') ? require(name) : { ...(await import(name)) })
    }
    const script = new Script(`(function (require, module) {${text}\n})`, { filename: 'tests.js' })
    this.#evaluate = script.runInThisContext()
    globalThis.__vitest_worker__ = { config: {} } // `expect` looks for it
    globalThis.__stryker__ = this.#watch.namespace
    // A promise that a mutant leaves behind, rejected, fails the test that runs: it must not end the process.
    process.on('unhandledRejection', (error) => (this.#stray ??= error))
  }

  async dryRun() {
    const stryker = this.#watch.namespace
    const tests = await this.#run(this.#paths)
    writeFileSync(timings, JSON.stringify(Object.fromEntries(tests.map(({ id, timeSpentMs }) => [id, timeSpentMs]))))
    return { status: DryRunStatus.Complete, tests, mutantCoverage: stryker.mutantCoverage }
  }

  async mutantRun({ activeMutant, mutantActivation, testFilter, ...options }) {
    // Stryker's limit is a hundred times the hits of all tests without a mutant. Ten times are an endless loop, too, which
    // then ends before its time is up: to start another process takes seconds.
    const hitLimit = options.hitLimit && Math.ceil(options.hitLimit / 10)
    const stryker = this.#watch.namespace
    Object.assign(stryker, { hitLimit, hitCount: 0 })
    this.#timings ??= JSON.parse(readFileSync(timings, 'utf8'))
    const chosen = testFilter && new Set(testFilter)
    const paths = this.#quickestFirst(testFilter)
    const mutant = activeMutant.id
    const tests = await this.#run(paths, { chosen, mutant, atLoad: mutantActivation === 'static' ? mutant : undefined })
    const isEndless = determineHitLimitReached(stryker.hitCount, hitLimit) ?? this.#watch.overrun()
    return toMutantRunResult(isEndless ?? { status: DryRunStatus.Complete, tests })
  }

  /** The files of these tests: most mutants are killed by the first that is asked. */
  #quickestFirst(testFilter) {
    if (!testFilter) return this.#paths
    const costs = new Map()
    for (const id of testFilter) {
      const path = id.slice(0, id.indexOf('#'))
      costs.set(path, (costs.get(path) ?? 0) + this.#timings[id])
    }
    return [...costs.keys()].sort((a, b) => costs.get(a) - costs.get(b))
  }

  async #run(paths, { chosen, mutant, atLoad } = {}) {
    const results = []
    const stryker = this.#watch.namespace
    const bail = mutant !== undefined
    const module = { exports: {} }
    this.#evaluate((name) => this.#packages.get(name), module)
    let failed = false
    const runner = {
      config: configOfRunner,
      importFile: (path) => module.exports.files[path](),
      onBeforeRunTask: (test) => {
        const id = idOf(test)
        if ((bail && failed) || (chosen && !chosen.has(id)) || this.#patterns.leftOut.includes(id)) test.mode = 'skip'
        stryker.currentTestId = id
        stryker.activeMutant = mutant
        this.#stray = undefined
        if (bail && test.mode !== 'skip') this.#watch.begin(this.#timings[id])
      },
      onAfterRunTask: (test) => {
        stryker.currentTestId = undefined
        this.#watch.end()
        if (test.mode === 'skip' || !test.result) return
        const failure = test.result.errors?.[0] ?? this.#stray
        const id = idOf(test)
        const base = {
          id,
          name: id,
          timeSpentMs: test.result.duration ?? 0,
          fileName: join(process.cwd(), test.file.filepath),
        }
        if (failure === undefined) results.push({ ...base, status: TestStatus.Success })
        else {
          failed = true
          results.push({ ...base, status: TestStatus.Failed, failureMessage: messageOf(failure) })
        }
      },
    }
    for (const path of paths) {
      if (bail && failed) break
      stryker.activeMutant = atLoad
      const [file] = await this.#suites.startTests([path], runner)
      const broken = file.result?.errors?.[0]
      if (broken) {
        failed = true
        results.push({
          id: `${path}#`,
          name: path,
          timeSpentMs: 0,
          status: TestStatus.Failed,
          failureMessage: messageOf(broken),
        })
      }
    }
    // A test that was left out by mistake would let mutants survive.
    if (chosen && !failed && results.length < chosen.size)
      throw new Error(`only ${results.length} of ${chosen.size} tests ran`)
    return results
  }
}

/**
 * Ends a test that goes on for ever. Stryker goes by the clock, and ends the process: on a machine that has much else to do,
 * a test that was only kept waiting would count as one that found something. Here it is the processor's time that counts.
 * Every place that may be changed asks for `activeMutant`, and whatever goes on for ever comes by such places.
 */
class Watch {
  #asked = 0
  #began = 0
  #limitMs = Number.POSITIVE_INFINITY
  #overrun
  namespace = {}

  constructor() {
    let mutant
    const get = () => {
      if ((++this.#asked & 1023) === 0 && spentMs() - this.#began > this.#limitMs) {
        this.#overrun = `a test took more than ${this.#limitMs} ms of the processor`
        throw new Error(this.#overrun)
      }
      return mutant
    }
    const set = (id) => {
      mutant = id
    }
    Object.defineProperty(this.namespace, 'activeMutant', { get, set })
  }

  begin(usualMs) {
    this.#began = spentMs()
    this.#limitMs = Math.ceil(1_000 + 5 * usualMs)
  }

  end() {
    this.#limitMs = Number.POSITIVE_INFINITY
  }

  /** What Stryker is told if a test since the last call had to be ended. */
  overrun() {
    const reason = this.#overrun
    this.#overrun = undefined
    return reason && { status: DryRunStatus.Timeout, reason }
  }
}

function spentMs() {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}

/** Not everything that is thrown is an error, or can be made a text. */
function messageOf(thrown) {
  return typeof thrown?.message === 'string' ? thrown.message : 'something was thrown'
}

/** Made once for each sandbox: a process that a mutant held up is followed by another, which is soon there. */
function bundleOf(paths, beside) {
  const kept = 'mutation-bundle.json'
  if (existsSync(kept)) return JSON.parse(readFileSync(kept, 'utf8'))
  // Each file, and each module that it needs, is evaluated when it is first asked for.
  const files = paths.map((path) => `${JSON.stringify(path)}: () => import(${JSON.stringify(`./${path}`)})`)
  const { outputFiles, metafile } = beside('esbuild').buildSync({
    stdin: { contents: `export const files = { ${files.join(', ')} }`, resolveDir: process.cwd() },
    bundle: true,
    write: false,
    metafile: true,
    format: 'cjs',
    platform: 'node',
    target: 'node20',
    packages: 'external',
    define: {
      'import.meta.dirname': JSON.stringify(join(process.cwd(), 'test')),
      'import.meta.url': JSON.stringify(pathToFileURL(join(process.cwd(), 'test/any.ts')).href),
    },
  })
  const { imports } = Object.values(metafile.outputs)[0]
  const bundle = { packages: [...new Set(imports.map(({ path }) => path))], text: outputFiles[0].text }
  const written = `${kept}.${process.pid}`
  writeFileSync(written, JSON.stringify(bundle))
  renameSync(written, kept)
  return bundle
}

function idOf(test) {
  const names = [test.name]
  for (let { suite } = test; suite; suite = suite.suite) names.unshift(suite.name)
  return `${test.file.filepath}#${names.join(' ')}`
}

const configOfRunner = {
  root: process.cwd(),
  name: '',
  setupFiles: [],
  passWithNoTests: true,
  allowOnly: true,
  sequence: { seed: 0, hooks: 'stack', shuffle: false, concurrent: false, setupFiles: 'list' },
  maxConcurrency: 1,
  testTimeout: 60_000,
  hookTimeout: 60_000,
  retry: 0,
  includeTaskLocation: false,
  tags: [],
  strictTags: false,
}

export const strykerPlugins = [declareClassPlugin(PluginKind.TestRunner, 'in-process', InProcessRunner)]
