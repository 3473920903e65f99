(set-logic QF_BV)
(declare-fun a () (_ BitVec 8))
(assert (= (bvmul a a) #x31))
(check-sat)
