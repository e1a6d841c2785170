import { expect } from 'chai'
import { handlersOf, operation } from '../../../shared/http/operation.ts'

describe('operations that are answered by their types', () => {
  const getAccount = operation('getAccount', () => Promise.reject(new Error('nobody asks')))

  it('are found by their ids, with what they say of themselves', () => {
    const listEvents = operation('listEvents', () => Promise.reject(new Error('nobody asks')), {
      isLong: 'alone',
    })
    expect(handlersOf([getAccount, listEvents])).to.have.all.keys('getAccount', 'listEvents')
    expect(handlersOf([listEvents])['listEvents']).to.include({ isLong: 'alone' })
  })

  it('are answered in one place: two answers to one are a fault of the program', () => {
    expect(() => handlersOf([getAccount, getAccount])).to.throw('getAccount is answered twice')
  })
})
