//! One kernel, several instruction sets.
//!
//! Release builds target baseline x86-64. [`multi`] compiles a function a second time with AVX2 and BMI2 and calls that
//! version where the CPU has them. Bodies are plain loops over slices that LLVM vectorizes.

/// Defines functions with a baseline and an AVX2 version.
macro_rules! multi {
    ($($(#[$meta:meta])* $vis:vis fn $name:ident $(<$t:ident : $bound:path>)? ($($arg:ident : $ty:ty),* $(,)?) $(-> $ret:ty)? $body:block)*) => {$(
        $(#[$meta])*
        $vis fn $name $(<$t: $bound>)? ($($arg: $ty),*) $(-> $ret)? {
            #[inline(always)]
            fn body $(<$t: $bound>)? ($($arg: $ty),*) $(-> $ret)? $body

            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
                fn wide $(<$t: $bound>)? ($($arg: $ty),*) $(-> $ret)? {
                    body($($arg),*)
                }
                if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("bmi2") {
                    // SAFETY: the CPU has the features that `wide` is compiled for (every CPU with AVX2 and BMI2 has
                    // BMI1, LZCNT and POPCNT).
                    return unsafe { wide($($arg),*) };
                }
            }
            body($($arg),*)
        }
    )*};
}

pub(crate) use multi;
