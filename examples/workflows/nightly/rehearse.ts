import { rehearse } from 'fencepost'
import { nightly } from './nightly.js'

const customers = ['ada', 'bob', 'cyd', 'dan'].map((name) => ({ name, mail: `${name}@example.org` }))
const { state, path, inputs } = rehearse(nightly, {
  parameters: { region: 'eu' },
  results: {
    list: { result: customers },
    send: {
      items: { 0: { result: { sent: 3 } }, 1: [{ fail: { message: 'busy', code: 'Busy' } }, { result: { sent: 1 } }] },
    },
  },
})
console.log('rehearsed', state, path, inputs['summary'])
